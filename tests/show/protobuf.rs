//! The wire format of Protocol Buffers.

use fingertip_show::inner::{Message, Value, fields};

/// The examples of the format's own description.
#[test]
fn bytes_of_the_description() {
    assert_eq!(Message::new().integer(1, 150).finish(), [0x08, 0x96, 0x01]);
    let text = Message::new().text(2, "testing");
    assert_eq!(text.clone().finish(), [0x12, 0x07, 0x74, 0x65, 0x73, 0x74, 0x69, 0x6e, 0x67]);
    let inner = Message::new().integer(1, 150);
    assert_eq!(Message::new().message(3, &inner).finish(), [0x1a, 0x03, 0x08, 0x96, 0x01]);
}

#[test]
fn what_is_written_is_read() {
    let message = Message::new().integer(1, u64::MAX).double(2, -0.5).text(3, "a").fixed(16, &[7, 8]).finish();
    let read = fields(&message).unwrap();
    let expected = [
        (1, Value::Integer(u64::MAX)),
        (2, Value::Double(-0.5)),
        (3, Value::Bytes(b"a")),
        (16, Value::Bytes(&[7, 0, 0, 0, 8, 0, 0, 0])),
    ];
    assert_eq!(read, expected);
    assert!((0..message.len()).filter(|&n| fields(&message[..n]).is_none()).count() > 20);
}
