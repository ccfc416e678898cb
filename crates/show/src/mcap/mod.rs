//! MCAP, the container of timestamped messages that robotics tools share ([mcap.dev/spec](https://mcap.dev/spec)):
//! writing and reading, without the parts that recordings do not use (attachments, metadata, LZ4).
//!
//! ```text
//! file    = magic, Header, data, DataEnd, summary, Footer, magic
//! data    = Schemas and Channels, then Chunks of Messages, each followed by its MessageIndexes
//! summary = Schemas, Channels, Statistics, ChunkIndexes, SummaryOffsets
//! record  = opcode u8, length u64, content; all numbers little-endian
//! ```
//!
//! Chunks are compressed with Zstandard by a crate in pure Rust; the crate `mcap` compresses through C libraries only.

mod read;
mod write;

pub use read::{Topic, read};
pub use write::{Channel, Schema, Writer};

/// Magic bytes at both ends of a file.
const MAGIC: [u8; 8] = [0x89, b'M', b'C', b'A', b'P', b'0', b'\r', b'\n'];

/// Kinds of records.
mod opcode {
    pub const HEADER: u8 = 0x01;
    pub const FOOTER: u8 = 0x02;
    pub const SCHEMA: u8 = 0x03;
    pub const CHANNEL: u8 = 0x04;
    pub const MESSAGE: u8 = 0x05;
    pub const CHUNK: u8 = 0x06;
    pub const MESSAGE_INDEX: u8 = 0x07;
    pub const CHUNK_INDEX: u8 = 0x08;
    pub const STATISTICS: u8 = 0x0B;
    pub const SUMMARY_OFFSET: u8 = 0x0E;
    pub const DATA_END: u8 = 0x0F;
}
