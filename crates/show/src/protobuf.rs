//! As much of the Protocol Buffers' wire format as Foxglove's schemas need
//! ([protobuf.dev](https://protobuf.dev/programming-guides/encoding/)).

/// A message being written. Fields that hold their default are left out, as they may be.
#[derive(Clone, Debug, Default)]
pub struct Message(Vec<u8>);

const VARINT: u64 = 0;
const FIXED64: u64 = 1;
const BYTES: u64 = 2;
const FIXED32: u64 = 5;

impl Message {
    /// A message without fields.
    pub fn new() -> Self {
        Self::default()
    }

    /// A whole number that is not negative, or an enum.
    pub fn integer(mut self, field: u64, value: u64) -> Self {
        if value != 0 {
            self.varint(field << 3 | VARINT);
            self.varint(value);
        }
        self
    }

    /// A field that is true or false.
    pub fn flag(self, field: u64, value: bool) -> Self {
        self.integer(field, u64::from(value))
    }

    /// A number in double precision.
    pub fn double(mut self, field: u64, value: f64) -> Self {
        if value != 0.0 {
            self.varint(field << 3 | FIXED64);
            self.0.extend(value.to_le_bytes());
        }
        self
    }

    /// A `fixed64` that is not zero.
    #[cfg(feature = "rerun")]
    pub fn fixed64(self, field: u64, value: u64) -> Self {
        self.double(field, f64::from_bits(value))
    }

    /// Text.
    pub fn text(self, field: u64, value: &str) -> Self {
        if value.is_empty() { self } else { self.bytes(field, value.as_bytes()) }
    }

    /// Bytes; they are there even if there are none.
    pub fn bytes(mut self, field: u64, value: &[u8]) -> Self {
        self.varint(field << 3 | BYTES);
        self.varint(value.len() as u64);
        self.0.extend(value);
        self
    }

    /// A message within; it is there even if it is empty.
    pub fn message(self, field: u64, value: &Self) -> Self {
        self.bytes(field, &value.0)
    }

    /// A list of messages.
    pub fn messages<'a>(self, field: u64, values: impl IntoIterator<Item = &'a Self>) -> Self {
        values.into_iter().fold(self, |message, value| message.message(field, value))
    }

    /// A list of `fixed32`.
    pub fn fixed(self, field: u64, values: &[u32]) -> Self {
        let packed: Vec<u8> = values.iter().flat_map(|value| value.to_le_bytes()).collect();
        if packed.is_empty() { self } else { self.bytes(field, &packed) }
    }

    /// The bytes of the finished message.
    pub fn finish(self) -> Vec<u8> {
        self.0
    }

    /// Seven bits a byte, the least ones first.
    fn varint(&mut self, mut value: u64) {
        while value >= 0x80 {
            self.0.push(value.to_le_bytes()[0] | 0x80);
            value >>= 7;
        }
        self.0.push(value.to_le_bytes()[0]);
    }
}

/// The value of a field, by its type on the wire.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Value<'a> {
    /// A whole number.
    Integer(u64),
    /// Eight bytes, as a number in double precision.
    Double(f64),
    /// Text, bytes, a message or a list.
    Bytes(&'a [u8]),
    /// Four bytes.
    Fixed(u32),
}

impl Value<'_> {
    /// The number, if it is one.
    pub fn double(self) -> Option<f64> {
        if let Self::Double(value) = self { Some(value) } else { None }
    }
}

/// The fields of a message with their numbers; none where the message is damaged.
pub fn fields(mut rest: &[u8]) -> Option<Vec<(u64, Value<'_>)>> {
    let mut found = Vec::new();
    while !rest.is_empty() {
        let key = take_varint(&mut rest)?;
        let value = match key & 7 {
            VARINT => Value::Integer(take_varint(&mut rest)?),
            FIXED64 => Value::Double(f64::from_le_bytes(take(&mut rest, 8)?.try_into().ok()?)),
            BYTES => {
                let length = usize::try_from(take_varint(&mut rest)?).ok()?;
                Value::Bytes(take(&mut rest, length)?)
            }
            FIXED32 => Value::Fixed(u32::from_le_bytes(take(&mut rest, 4)?.try_into().ok()?)),
            _ => return None,
        };
        found.push((key >> 3, value));
    }
    Some(found)
}

fn take<'a>(rest: &mut &'a [u8], n: usize) -> Option<&'a [u8]> {
    let (bytes, after) = rest.split_at_checked(n)?;
    *rest = after;
    Some(bytes)
}

fn take_varint(rest: &mut &[u8]) -> Option<u64> {
    let mut value = 0;
    for shift in (0..64).step_by(7) {
        let byte = take(rest, 1)?[0];
        value |= u64::from(byte & 0x7F) << shift;
        if byte < 0x80 {
            return Some(value);
        }
    }
    None
}
