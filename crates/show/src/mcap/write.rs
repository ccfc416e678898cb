//! Writing MCAP: one pass, no seeking.

use std::io::{Result, Write};
use std::ops::Range;

use ruzstd::encoding::{CompressionLevel, compress_to_vec};

use super::{MAGIC, opcode};

/// A channel of a file: topic, message name and schema.
#[derive(Clone, Debug)]
pub struct Channel {
    /// The channel's topic, such as `"/q"`.
    pub topic: &'static str,
    /// The name of its messages: `"fingertip.Configuration"`.
    pub name: &'static str,
    /// The schema of the channel's messages.
    pub schema: Schema,
}

/// The encoding of messages, with their definition.
#[derive(Clone, Debug)]
pub enum Schema {
    /// JSON, with a JSON Schema.
    Json(&'static str),
    /// Protocol Buffers, with a `FileDescriptorSet`.
    Protobuf(Vec<u8>),
}

impl Schema {
    /// Encoding of the schema, of the messages, and the definition.
    fn parts(&self) -> (&str, &str, &[u8]) {
        match self {
            Self::Json(text) => ("jsonschema", "json", text.as_bytes()),
            Self::Protobuf(descriptors) => ("protobuf", "protobuf", descriptors),
        }
    }
}

/// Writes a file. Channels are known by their place in the list.
pub struct Writer<W: Write> {
    to: W,
    /// Bytes written.
    at: u64,
    /// Schema and channel records, for the summary.
    schemas: Vec<u8>,
    channels: Vec<u8>,
    chunk: Chunk,
    chunk_indexes: Vec<u8>,
    n_chunks: u32,
    n_schemas: u16,
    /// Messages by channel.
    counts: Vec<u64>,
    /// Times of the first and the last message, ns.
    times: Option<(u64, u64)>,
}

/// Messages that wait to be compressed.
#[derive(Default)]
struct Chunk {
    records: Vec<u8>,
    /// By channel: the time of each message and its place in `records`.
    messages: Vec<Vec<(u64, u64)>>,
    times: Option<(u64, u64)>,
}

impl<W: Write> Writer<W> {
    /// Starts a file. `library` says what writes it.
    pub fn new(to: W, profile: &str, library: &str, channels: &[Channel]) -> Result<Self> {
        let n = channels.len();
        let mut writer = Self {
            to,
            at: 0,
            schemas: Vec::new(),
            channels: Vec::new(),
            chunk: Chunk { messages: vec![Vec::new(); n], ..Chunk::default() },
            chunk_indexes: Vec::new(),
            n_chunks: 0,
            n_schemas: 0,
            counts: vec![0; n],
            times: None,
        };
        writer.put(&MAGIC)?;
        writer.put(&record(opcode::HEADER, &[text(profile), text(library)].concat()))?;
        let mut names: Vec<&str> = Vec::new();
        for (i, channel) in channels.iter().enumerate() {
            let (schema_encoding, message_encoding, definition) = channel.schema.parts();
            let known = names.iter().position(|name| *name == channel.name);
            let schema = known.unwrap_or(names.len());
            if known.is_none() {
                names.push(channel.name);
                let id = u16_of(schema + 1).to_le_bytes();
                let content = [&id[..], &text(channel.name), &text(schema_encoding), &list(definition)];
                writer.schemas.extend(record(opcode::SCHEMA, &content.concat()));
            }
            let ids = [u16_of(i).to_le_bytes(), u16_of(schema + 1).to_le_bytes()].concat();
            let no_metadata = 0_u32.to_le_bytes();
            let content = [&ids[..], &text(channel.topic), &text(message_encoding), &no_metadata];
            writer.channels.extend(record(opcode::CHANNEL, &content.concat()));
        }
        writer.n_schemas = u16_of(names.len());
        let definitions = [&writer.schemas[..], &writer.channels].concat();
        writer.put(&definitions)?;
        Ok(writer)
    }

    /// Adds a message to the chunk that waits.
    pub fn message(&mut self, channel: usize, time: u64, data: &[u8]) {
        let place = self.chunk.records.len() as u64;
        self.chunk.messages[channel].push((time, place));
        widen(&mut self.chunk.times, time);
        widen(&mut self.times, time);
        #[expect(clippy::cast_possible_truncation, reason = "the sequence number may wrap")]
        let sequence = self.counts[channel] as u32;
        self.counts[channel] += 1;
        let times = [time.to_le_bytes(), time.to_le_bytes()].concat();
        let content = [&u16_of(channel).to_le_bytes()[..], &sequence.to_le_bytes(), &times, data];
        self.chunk.records.extend(record(opcode::MESSAGE, &content.concat()));
    }

    /// The number of bytes that wait to be written as a chunk.
    pub fn waiting(&self) -> usize {
        self.chunk.records.len()
    }

    /// Writes the messages that wait as a chunk, through to the file.
    pub fn flush(&mut self) -> Result<()> {
        let Some((first, last)) = self.chunk.times.take() else { return Ok(()) };
        let records = std::mem::take(&mut self.chunk.records);
        let packed = compress_to_vec(&records[..], CompressionLevel::Fastest);
        let (size, packed_size) = (records.len() as u64, packed.len() as u64);
        let span = [first.to_le_bytes(), last.to_le_bytes()].concat();
        let content = [
            &span[..],
            &size.to_le_bytes(),
            &crc32fast::hash(&records).to_le_bytes(),
            &text("zstd"),
            &packed_size.to_le_bytes(),
            &packed,
        ];
        let chunk = self.put(&record(opcode::CHUNK, &content.concat()))?;
        let begin = self.at;
        let mut places = Vec::new();
        for channel in 0..self.chunk.messages.len() {
            let messages = std::mem::take(&mut self.chunk.messages[channel]);
            if messages.is_empty() {
                continue;
            }
            let id = u16_of(channel).to_le_bytes();
            let entries: Vec<u8> =
                messages.iter().flat_map(|(time, place)| [time.to_le_bytes(), place.to_le_bytes()].concat()).collect();
            let index = self.put(&record(opcode::MESSAGE_INDEX, &[&id[..], &list(&entries)].concat()))?;
            places.extend([&id[..], &index.start.to_le_bytes()].concat());
        }
        let content = [
            &span[..],
            &chunk.start.to_le_bytes(),
            &(chunk.end - chunk.start).to_le_bytes(),
            &list(&places),
            &(self.at - begin).to_le_bytes(),
            &text("zstd"),
            &packed_size.to_le_bytes(),
            &size.to_le_bytes(),
        ];
        self.chunk_indexes.extend(record(opcode::CHUNK_INDEX, &content.concat()));
        self.n_chunks += 1;
        self.to.flush()
    }

    /// The number of bytes written.
    pub fn size(&self) -> u64 {
        self.at
    }

    /// Writes what waits and the summary; what it is written to.
    pub fn finish(mut self) -> Result<W> {
        self.flush()?;
        let no_crc = 0_u32.to_le_bytes();
        self.put(&record(opcode::DATA_END, &no_crc))?;
        let start = self.at;
        let groups = [
            (opcode::SCHEMA, std::mem::take(&mut self.schemas)),
            (opcode::CHANNEL, std::mem::take(&mut self.channels)),
            (opcode::STATISTICS, self.statistics()),
            (opcode::CHUNK_INDEX, std::mem::take(&mut self.chunk_indexes)),
        ];
        let (mut summary, mut offsets) = (Vec::new(), Vec::new());
        for (kind, records) in groups.iter().filter(|(_, records)| !records.is_empty()) {
            let place = start + summary.len() as u64;
            let content = [&[*kind][..], &place.to_le_bytes(), &(records.len() as u64).to_le_bytes()];
            offsets.extend(record(opcode::SUMMARY_OFFSET, &content.concat()));
            summary.extend(records);
        }
        let offsets_start = start + summary.len() as u64;
        summary.extend(offsets);
        let footer = [start.to_le_bytes(), offsets_start.to_le_bytes()].concat();
        let footer = record(opcode::FOOTER, &[&footer[..], &no_crc].concat());
        // The checksum covers the summary and the footer up to the checksum itself.
        summary.extend(&footer[..footer.len() - no_crc.len()]);
        let crc = crc32fast::hash(&summary).to_le_bytes();
        self.put(&[&summary[..], &crc, &MAGIC].concat())?;
        self.to.flush()?;
        Ok(self.to)
    }

    fn statistics(&self) -> Vec<u8> {
        let (first, last) = self.times.unwrap_or_default();
        let used = self.counts.iter().enumerate().filter(|(_, count)| **count > 0);
        let counts: Vec<u8> =
            used.flat_map(|(i, count)| [&u16_of(i).to_le_bytes()[..], &count.to_le_bytes()].concat()).collect();
        let (attachments, metadata) = (0_u32, 0_u32);
        let content = [
            &self.counts.iter().sum::<u64>().to_le_bytes()[..],
            &self.n_schemas.to_le_bytes(),
            &u32_of(self.counts.len()).to_le_bytes(),
            &attachments.to_le_bytes(),
            &metadata.to_le_bytes(),
            &self.n_chunks.to_le_bytes(),
            &first.to_le_bytes(),
            &last.to_le_bytes(),
            &list(&counts),
        ];
        record(opcode::STATISTICS, &content.concat())
    }

    /// Writes bytes; where they are.
    fn put(&mut self, bytes: &[u8]) -> Result<Range<u64>> {
        self.to.write_all(bytes)?;
        let start = self.at;
        self.at += bytes.len() as u64;
        Ok(start..self.at)
    }
}

fn widen(times: &mut Option<(u64, u64)>, time: u64) {
    let (first, last) = times.unwrap_or((time, time));
    *times = Some((first.min(time), last.max(time)));
}

fn record(opcode: u8, content: &[u8]) -> Vec<u8> {
    [&[opcode][..], &(content.len() as u64).to_le_bytes(), content].concat()
}

/// A string, or any list: its length in bytes, then its bytes.
fn list(bytes: &[u8]) -> Vec<u8> {
    [&u32_of(bytes.len()).to_le_bytes()[..], bytes].concat()
}

fn text(text: &str) -> Vec<u8> {
    list(text.as_bytes())
}

#[expect(clippy::cast_possible_truncation, reason = "schemas and channels are a dozen")]
fn u16_of(n: usize) -> u16 {
    n as u16
}

#[expect(clippy::cast_possible_truncation, reason = "lists within a chunk are far below 4 GiB")]
fn u32_of(n: usize) -> u32 {
    n as u32
}
