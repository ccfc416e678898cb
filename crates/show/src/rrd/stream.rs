//! As much of rerun's file format as a recording needs: a header, then messages in the Protocol Buffers' wire format,
//! the most of them with a table of Arrow. It is the format that rerun promises to read from its version 0.23 on.

use std::io::{self, Write};
use std::sync::Arc;

use arrow_array::{
    Array, ArrayRef, DurationNanosecondArray, FixedSizeBinaryArray, FixedSizeListArray, Float32Array, ListArray,
    RecordBatch,
};
use arrow_buffer::OffsetBuffer;
use arrow_ipc::writer::StreamWriter;
use arrow_schema::{ArrowError, Field, Schema};

use crate::protobuf::Message;

/// The first bytes of a file: its name, the version of rerun whose format this is, no compression, messages in Protocol
/// Buffers.
const HEADER: [u8; 12] = [b'R', b'R', b'F', b'2', 0, 24, 0, 0, 0, 2, 0, 0];
/// Version of the layout of tables.
const VERSION: &str = "0.1.0";
/// Kinds of messages.
const END: u64 = 0;
const STORE_INFO: u64 = 1;
const TABLE: u64 = 2;
/// Codes: a store that is a recording; a source that gives its name; a table without compression; a table of Arrow.
const RECORDING: u64 = 1;
const OTHER_SOURCE: u64 = 6;
const UNCOMPRESSED: u64 = 1;
const ARROW: u64 = 1;
/// The timeline's name, as the viewer shows it.
const TIME: &str = "time";

/// A column of a table: for each row a list of items.
pub struct Column {
    archetype: &'static str,
    /// The field of the archetype, such as `"half_sizes"`.
    field: &'static str,
    /// The type of an item, such as `"HalfSize3D"`.
    kind: &'static str,
    lists: ListArray,
}

impl Column {
    /// `lengths` are those of the rows' lists; `items` are all items, one row after the other.
    pub fn new(
        archetype: &'static str,
        field: &'static str,
        kind: &'static str,
        lengths: impl IntoIterator<Item = usize>,
        items: ArrayRef,
    ) -> Result<Self, ArrowError> {
        let item = Arc::new(Field::new("item", items.data_type().clone(), true));
        let lists = ListArray::try_new(item, OffsetBuffer::from_lengths(lengths), items, None)?;
        Ok(Self { archetype, field, kind, lists })
    }

    fn field(&self) -> Field {
        let Self { archetype, field, kind, lists } = self;
        let component = format!("{archetype}:{field}");
        Field::new(&component, lists.data_type().clone(), true).with_metadata(
            [
                ("rerun:archetype", format!("rerun.archetypes.{archetype}")),
                ("rerun:component", component),
                ("rerun:component_type", format!("rerun.components.{kind}")),
                ("rerun:kind", "data".to_owned()),
            ]
            .map(|(name, value)| (name.to_owned(), value))
            .into(),
        )
    }
}

/// Vectors of N numbers each, as items.
pub fn vectors<const N: usize>(rows: impl IntoIterator<Item = [f64; N]>) -> Result<ArrayRef, ArrowError> {
    let numbers = Float32Array::from_iter_values(rows.into_iter().flatten().map(single));
    fixed::<N>(Arc::new(numbers))
}

/// Lists of N items each, as items.
pub fn fixed<const N: usize>(items: ArrayRef) -> Result<ArrayRef, ArrowError> {
    let item = Arc::new(Field::new("item", items.data_type().clone(), false));
    #[expect(clippy::cast_possible_truncation, clippy::cast_possible_wrap, reason = "N is 3 or 4")]
    let width = N as i32;
    Ok(Arc::new(FixedSizeListArray::try_new(item, width, items, None)?))
}

/// Converts a number to single precision, in which rerun draws.
#[expect(clippy::cast_possible_truncation, reason = "a screen needs no more")]
pub fn single(x: f64) -> f32 {
    x as f32
}

/// A file that grows by tables.
pub struct Stream<W: Write> {
    to: W,
    store: Message,
    /// Number of the last table or row.
    number: u64,
}

impl<W: Write> Stream<W> {
    /// Begins a file by `generator` of the recording with this name, which should be its own: a viewer joins recordings
    /// of one name.
    pub fn new(mut to: W, name: &str, generator: &str) -> io::Result<Self> {
        to.write_all(&HEADER)?;
        let application = Message::new().text(1, "fingertip");
        let store = Message::new().integer(1, RECORDING).text(2, name).message(3, &application);
        let mut stream = Self { to, store, number: 0 };
        let source = Message::new().integer(1, OTHER_SOURCE).message(2, &Message::new().text(1, generator));
        let info = Message::new().message(2, &stream.store).message(5, &source);
        let number = Message::new().fixed64(1, 1).fixed64(2, 1);
        stream.message(STORE_INFO, &Message::new().message(1, &number).message(2, &info).finish())?;
        Ok(stream)
    }

    /// Adds what is known of an entity: a row for each time, ns, or one row for all times.
    pub fn table(
        &mut self,
        entity: &str,
        times: Option<&[i64]>,
        columns: Result<Vec<Column>, ArrowError>,
    ) -> io::Result<()> {
        let payload = columns.and_then(|columns| self.arrow(entity, times, columns)).map_err(io::Error::other)?;
        let size = payload.len() as u64;
        let message =
            Message::new().message(1, &self.store).integer(2, UNCOMPRESSED).integer(3, size).integer(4, ARROW);
        self.message(TABLE, &message.bytes(5, &payload).finish())
    }

    fn arrow(&mut self, entity: &str, times: Option<&[i64]>, columns: Vec<Column>) -> Result<Vec<u8>, ArrowError> {
        let n_rows = columns.first().map_or(0, |column| column.lists.len());
        let metadata =
            |list: &[(&str, &str)]| list.iter().map(|&(name, value)| (name.to_owned(), value.to_owned())).collect();
        let id = format!("chunk_{:032X}", u128::from(self.next()));
        let rows = (0..n_rows).map(|_| u128::from(self.next()).to_be_bytes());
        let rows: ArrayRef = Arc::new(FixedSizeBinaryArray::try_from_iter(rows)?);
        let row = Field::new("rerun.controls.RowId", rows.data_type().clone(), false).with_metadata(metadata(&[
            ("ARROW:extension:name", "rerun.datatypes.TUID"),
            ("ARROW:extension:metadata", r#"{"namespace":"row"}"#),
            ("rerun:is_sorted", "true"),
            ("rerun:kind", "control"),
        ]));
        let (mut fields, mut arrays) = (vec![row], vec![rows]);
        if let Some(times) = times {
            let times: ArrayRef = Arc::new(DurationNanosecondArray::from(times.to_vec()));
            let about = [("rerun:index_name", TIME), ("rerun:is_sorted", "true"), ("rerun:kind", "index")];
            fields.push(Field::new(TIME, times.data_type().clone(), true).with_metadata(metadata(&about)));
            arrays.push(times);
        }
        for column in columns {
            fields.push(column.field());
            arrays.push(Arc::new(column.lists));
        }
        let about = [("rerun:entity_path", entity), ("rerun:id", &id), ("sorbet:version", VERSION)];
        let schema = Arc::new(Schema::new_with_metadata(fields, metadata(&about)));
        let mut writer = StreamWriter::try_new(Vec::new(), &schema)?;
        writer.write(&RecordBatch::try_new(schema, arrays)?)?;
        writer.into_inner()
    }

    /// A number that none had before.
    fn next(&mut self) -> u64 {
        self.number += 1;
        self.number
    }

    /// Writes the end of the stream, and what is still held back.
    pub fn finish(mut self) -> io::Result<()> {
        self.message(END, &[])?;
        self.to.flush()
    }

    fn message(&mut self, kind: u64, payload: &[u8]) -> io::Result<()> {
        self.to.write_all(&kind.to_le_bytes())?;
        self.to.write_all(&(payload.len() as u64).to_le_bytes())?;
        self.to.write_all(payload)
    }
}
