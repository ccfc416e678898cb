//! Taxels as scene files spell them.

use serde::Deserialize;

use super::shapes::{exactly, pose};
use crate::Taxels;
use fingertip_shapes::file::Folder;
use fingertip_shapes::{Error, Result};

/// A pad: a grid, or a file of points and normals.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct TaxelsFile {
    pub(super) name: String,
    link: String,
    #[serde(default, deserialize_with = "exactly")]
    at: Option<[f64; 3]>,
    #[serde(default, deserialize_with = "exactly")]
    rpy: Option<[f64; 3]>,
    #[serde(default, deserialize_with = "exactly")]
    quaternion: Option<[f64; 4]>,
    rows: Option<usize>,
    columns: Option<usize>,
    #[serde(default, deserialize_with = "exactly")]
    size: Option<[f64; 2]>,
    file: Option<String>,
    reach: Option<f64>,
}

impl TaxelsFile {
    pub(super) fn taxels(self, folder: &Folder) -> Result<Taxels> {
        let pose = pose(self.at, self.rpy, self.quaternion)?;
        let own = match (self.file, self.rows, self.columns, self.size) {
            (None, Some(rows), Some(columns), Some(size)) => {
                let fits = |n: usize| (1..=Taxels::MOST).contains(&n);
                if !fits(rows) || !fits(columns) || !fits(rows.saturating_mul(columns)) {
                    let message = format!("expected 1 to {} taxels, got {rows} × {columns}", Taxels::MOST);
                    return Err(Error::invalid("rows", message));
                }
                if !size.iter().all(|side| *side > 0.0 && side.is_finite()) {
                    return Err(Error::invalid("size", format!("expected two positive lengths, m, got {size:?}")));
                }
                Taxels::grid(self.name, self.link, &pose, [rows, columns], size)
            }
            (Some(file), None, None, None) => {
                let Some(reach) = self.reach else {
                    return Err(Error::invalid("reach", "expected a length, m, with a file, got none"));
                };
                let text = folder.text(&file)?;
                Taxels::table(self.name, self.link, &pose, &text, reach)
                    .map_err(|error| error.within(format!("\"{file}\"")))?
            }
            (Some(_), ..) => return Err(Error::invalid("file", "expected without rows, columns and size, got both")),
            (None, ..) => return Err(Error::invalid("rows", "expected rows, columns and size, or a file")),
        };
        Ok(Taxels { reach: self.reach.unwrap_or(own.reach), ..own })
    }
}
