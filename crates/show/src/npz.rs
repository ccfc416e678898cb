//! Files of NumPy's arrays: NPY as of its format version 3.0, in an uncompressed ZIP archive.

use std::fs::File;
use std::io::{BufWriter, Result, Write};

use zip::ZipWriter;
use zip::write::SimpleFileOptions;

/// An array.
pub enum Array {
    /// The array's shape, and its numbers in row-major order.
    Numbers(Vec<usize>, Vec<f64>),
    /// Strings.
    Texts(Vec<String>),
}

/// An archive that is being written.
pub struct Npz(ZipWriter<BufWriter<File>>);

/// Headers end at multiples of this.
const ALIGNMENT: usize = 64;

impl Npz {
    pub fn new(file: File) -> Self {
        Self(ZipWriter::new(BufWriter::new(file)))
    }

    /// Adds an array.
    pub fn put(&mut self, name: &str, array: &Array) -> Result<()> {
        self.0.start_file(format!("{name}.npy"), SimpleFileOptions::default().large_file(true))?;
        match array {
            Array::Numbers(shape, numbers) => {
                let shape: String = shape.iter().map(|n| format!("{n}, ")).collect();
                self.header("<f8", &shape)?;
                numbers.iter().try_for_each(|x| self.0.write_all(&x.to_le_bytes()))
            }
            Array::Texts(texts) => {
                let width = texts.iter().map(|text| text.chars().count()).max().unwrap_or(0).max(1);
                self.header(&format!("<U{width}"), &format!("{}, ", texts.len()))?;
                let padded =
                    |text: &String| text.chars().map(u32::from).chain(std::iter::repeat(0)).take(width).collect();
                let numbers = texts.iter().flat_map(|text| -> Vec<u32> { padded(text) });
                numbers.into_iter().try_for_each(|code| self.0.write_all(&code.to_le_bytes()))
            }
        }
    }

    fn header(&mut self, kind: &str, shape: &str) -> Result<()> {
        const MAGIC: &[u8] = b"\x93NUMPY\x03\x00";
        let mut text = format!("{{'descr': '{kind}', 'fortran_order': False, 'shape': ({shape}), }}");
        let before = MAGIC.len() + size_of::<u32>();
        let whole = (before + text.len() + 1).next_multiple_of(ALIGNMENT);
        text += &" ".repeat(whole - before - text.len() - 1);
        text.push('\n');
        self.0.write_all(MAGIC)?;
        let length = u32::try_from(text.len()).map_err(std::io::Error::other)?;
        self.0.write_all(&length.to_le_bytes())?;
        self.0.write_all(text.as_bytes())
    }

    pub fn finish(self) -> Result<()> {
        self.0.finish()?.flush()
    }
}
