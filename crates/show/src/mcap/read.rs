//! Reading MCAP from its beginning, as far as it goes.

use std::collections::HashMap;
use std::io::Read;

use ruzstd::decoding::StreamingDecoder;

use super::{MAGIC, opcode};

/// A chunk that unpacks to more is taken for damage, bytes.
const LARGEST_CHUNK: u64 = 1 << 30;

/// The channel of a message: name, schema and encoding.
#[derive(Clone, Debug, PartialEq)]
pub struct Topic {
    /// The channel's topic, such as `"/q"`.
    pub name: String,
    /// The name of its schema; empty if it has none.
    pub schema: String,
    /// The encoding of the messages, such as `"json"`.
    pub encoding: String,
}

/// Properties of a file apart from its messages: its channels and schemas, and whether it is complete.
#[derive(Debug, Default)]
pub struct Log {
    /// Does the file end as it should? Otherwise it was cut off.
    pub complete: bool,
    topics: HashMap<u16, Topic>,
    schemas: HashMap<u16, String>,
}

/// Goes through a file's messages in the order of the file: topic, time in ns, data. A file that was cut off ends with
/// its last whole chunk.
///
/// # Errors
/// Says what is wrong if the file is not MCAP, is damaged, or uses another compression than Zstandard. Errors of `each`
/// are passed on.
pub fn read<E: From<String>>(
    bytes: &[u8],
    mut each: impl FnMut(&Topic, u64, &[u8]) -> Result<(), E>,
) -> Result<Log, E> {
    let Some(mut rest) = bytes.strip_prefix(&MAGIC) else {
        return Err("expected an MCAP file, which begins with 89 4D 43 41 50 30 0D 0A".to_owned().into());
    };
    let mut log = Log::default();
    while let Some((kind, content)) = record(&mut rest) {
        match kind {
            opcode::CHUNK => {
                let place = format!("chunk at byte {}", bytes.len() - rest.len() - content.len());
                let records = unpack(content).map_err(|message| format!("{place}: {message}"))?;
                let mut inside = &records[..];
                while let Some((kind, content)) = record(&mut inside) {
                    log.take(kind, content, &mut each)?;
                }
                if !inside.is_empty() {
                    return Err(format!("{place}: it ends in the middle of a record").into());
                }
            }
            opcode::DATA_END => {
                log.complete = bytes.ends_with(&MAGIC) && bytes.len() > MAGIC.len();
                break;
            }
            other => log.take(other, content, &mut each)?,
        }
    }
    Ok(log)
}

impl Log {
    /// The topics in the order of their numbers.
    pub fn topics(&self) -> Vec<&Topic> {
        let mut topics: Vec<(&u16, &Topic)> = self.topics.iter().collect();
        topics.sort_by_key(|(id, _)| **id);
        topics.into_iter().map(|(_, topic)| topic).collect()
    }

    fn take<E: From<String>>(
        &mut self,
        kind: u8,
        content: &[u8],
        each: &mut impl FnMut(&Topic, u64, &[u8]) -> Result<(), E>,
    ) -> Result<(), E> {
        let short = || format!("a record of kind {kind:#04x} ends too early");
        let mut fields = Fields(content);
        match kind {
            opcode::SCHEMA => {
                let id = fields.u16().ok_or_else(short)?;
                self.schemas.insert(id, fields.text().ok_or_else(short)?);
            }
            opcode::CHANNEL => {
                let (id, schema) = (fields.u16().ok_or_else(short)?, fields.u16().ok_or_else(short)?);
                let (name, encoding) = (fields.text().ok_or_else(short)?, fields.text().ok_or_else(short)?);
                let schema = self.schemas.get(&schema).cloned().unwrap_or_default();
                self.topics.insert(id, Topic { name, schema, encoding });
            }
            opcode::MESSAGE => {
                let (id, _sequence) = (fields.u16().ok_or_else(short)?, fields.u32().ok_or_else(short)?);
                let (time, _published) = (fields.u64().ok_or_else(short)?, fields.u64().ok_or_else(short)?);
                let Some(topic) = self.topics.get(&id) else {
                    return Err(format!("a message belongs to channel {id}, which is not there").into());
                };
                each(topic, time, fields.0)?;
            }
            // Header, indexes, and what later versions may add.
            _ => {}
        }
        Ok(())
    }
}

/// The next record; none if it is not there in full.
fn record<'a>(rest: &mut &'a [u8]) -> Option<(u8, &'a [u8])> {
    let mut fields = Fields(rest);
    let kind = fields.bytes(1)?[0];
    let length = usize::try_from(fields.u64()?).ok()?;
    let content = fields.bytes(length)?;
    *rest = fields.0;
    Some((kind, content))
}

fn unpack(content: &[u8]) -> Result<Vec<u8>, String> {
    let mut fields = Fields(content);
    let header = (|| {
        let (_first, _last, size) = (fields.u64()?, fields.u64()?, fields.u64()?);
        let (crc, compression) = (fields.u32()?, fields.text()?);
        let packed = usize::try_from(fields.u64()?).ok()?;
        Some((size, crc, compression, fields.bytes(packed)?))
    })();
    let (size, crc, compression, packed) = header.ok_or("its header ends too early")?;
    if size > LARGEST_CHUNK {
        return Err(format!("expected at most {LARGEST_CHUNK} bytes, it says that it has {size}"));
    }
    let records = match compression.as_str() {
        "" => packed.to_vec(),
        "zstd" => {
            let decoder = StreamingDecoder::new(packed).map_err(|error| format!("Zstandard: {error}"))?;
            let mut records = Vec::new();
            decoder.take(size + 1).read_to_end(&mut records).map_err(|error| format!("Zstandard: {error}"))?;
            records
        }
        other => return Err(format!("expected compression \"zstd\" or none, got \"{other}\"")),
    };
    if records.len() as u64 != size {
        return Err(format!("expected {size} bytes unpacked, got {}", records.len()));
    }
    // Zero stands for no checksum.
    if crc != 0 && crc32fast::hash(&records) != crc {
        return Err("its checksum is wrong: the file is damaged".to_owned());
    }
    Ok(records)
}

/// Takes fields off the front of a record.
struct Fields<'a>(&'a [u8]);

impl<'a> Fields<'a> {
    fn bytes(&mut self, n: usize) -> Option<&'a [u8]> {
        let (bytes, rest) = self.0.split_at_checked(n)?;
        self.0 = rest;
        Some(bytes)
    }

    fn array<const N: usize>(&mut self) -> Option<[u8; N]> {
        self.bytes(N)?.try_into().ok()
    }

    fn u16(&mut self) -> Option<u16> {
        self.array().map(u16::from_le_bytes)
    }

    fn u32(&mut self) -> Option<u32> {
        self.array().map(u32::from_le_bytes)
    }

    fn u64(&mut self) -> Option<u64> {
        self.array().map(u64::from_le_bytes)
    }

    fn text(&mut self) -> Option<String> {
        let length = self.u32()? as usize;
        String::from_utf8(self.bytes(length)?.to_vec()).ok()
    }
}
