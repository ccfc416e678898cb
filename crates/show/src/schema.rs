//! Foxglove's schemas as files of messages carry them: a `FileDescriptorSet` in the Protocol Buffers' wire format.
//! Names and numbers of the fields are Foxglove's ([docs.foxglove.dev](https://docs.foxglove.dev/docs/sdk/schemas)).

use super::protobuf::Message;

/// A field: name, number, type. A type in capitals is a message or an enum; "[…]" stands for a list.
type Field = (&'static str, u64, &'static str);

const TIME: &[(&str, &[Field])] = &[("Timestamp", &[("seconds", 1, "int64"), ("nanos", 2, "int32")])];
const DURATION: &[(&str, &[Field])] = &[("Duration", &[("seconds", 1, "int64"), ("nanos", 2, "int32")])];

const MESSAGES: &[(&str, &[Field])] = &[
    ("Vector3", &[("x", 1, "double"), ("y", 2, "double"), ("z", 3, "double")]),
    ("Point3", &[("x", 1, "double"), ("y", 2, "double"), ("z", 3, "double")]),
    ("Quaternion", &[("x", 1, "double"), ("y", 2, "double"), ("z", 3, "double"), ("w", 4, "double")]),
    ("Pose", &[("position", 1, "Vector3"), ("orientation", 2, "Quaternion")]),
    ("Color", &[("r", 1, "double"), ("g", 2, "double"), ("b", 3, "double"), ("a", 4, "double")]),
    ("KeyValuePair", &[("key", 1, "string"), ("value", 2, "string")]),
    (
        "FrameTransform",
        &[
            ("timestamp", 1, "Timestamp"),
            ("parent_frame_id", 2, "string"),
            ("child_frame_id", 3, "string"),
            ("translation", 4, "Vector3"),
            ("rotation", 5, "Quaternion"),
        ],
    ),
    ("FrameTransforms", &[("transforms", 1, "[FrameTransform]")]),
    (
        "ArrowPrimitive",
        &[
            ("pose", 1, "Pose"),
            ("shaft_length", 2, "double"),
            ("shaft_diameter", 3, "double"),
            ("head_length", 4, "double"),
            ("head_diameter", 5, "double"),
            ("color", 6, "Color"),
        ],
    ),
    ("CubePrimitive", &[("pose", 1, "Pose"), ("size", 2, "Vector3"), ("color", 3, "Color")]),
    ("SpherePrimitive", &[("pose", 1, "Pose"), ("size", 2, "Vector3"), ("color", 3, "Color")]),
    (
        "CylinderPrimitive",
        &[
            ("pose", 1, "Pose"),
            ("size", 2, "Vector3"),
            ("bottom_scale", 3, "double"),
            ("top_scale", 4, "double"),
            ("color", 5, "Color"),
        ],
    ),
    (
        "LinePrimitive",
        &[
            ("type", 1, "LineType"),
            ("pose", 2, "Pose"),
            ("thickness", 3, "double"),
            ("scale_invariant", 4, "bool"),
            ("points", 5, "[Point3]"),
            ("color", 6, "Color"),
            ("colors", 7, "[Color]"),
            ("indices", 8, "[fixed32]"),
        ],
    ),
    (
        "TriangleListPrimitive",
        &[
            ("pose", 1, "Pose"),
            ("points", 2, "[Point3]"),
            ("color", 3, "Color"),
            ("colors", 4, "[Color]"),
            ("indices", 5, "[fixed32]"),
        ],
    ),
    (
        "TextPrimitive",
        &[
            ("pose", 1, "Pose"),
            ("billboard", 2, "bool"),
            ("font_size", 3, "double"),
            ("scale_invariant", 4, "bool"),
            ("color", 5, "Color"),
            ("text", 6, "string"),
        ],
    ),
    (
        "ModelPrimitive",
        &[
            ("pose", 1, "Pose"),
            ("scale", 2, "Vector3"),
            ("color", 3, "Color"),
            ("override_color", 4, "bool"),
            ("url", 5, "string"),
            ("media_type", 6, "string"),
            ("data", 7, "bytes"),
        ],
    ),
    (
        "SceneEntity",
        &[
            ("timestamp", 1, "Timestamp"),
            ("frame_id", 2, "string"),
            ("id", 3, "string"),
            ("lifetime", 4, "Duration"),
            ("frame_locked", 5, "bool"),
            ("metadata", 6, "[KeyValuePair]"),
            ("arrows", 7, "[ArrowPrimitive]"),
            ("cubes", 8, "[CubePrimitive]"),
            ("spheres", 9, "[SpherePrimitive]"),
            ("cylinders", 10, "[CylinderPrimitive]"),
            ("lines", 11, "[LinePrimitive]"),
            ("triangles", 12, "[TriangleListPrimitive]"),
            ("texts", 13, "[TextPrimitive]"),
            ("models", 14, "[ModelPrimitive]"),
        ],
    ),
    ("SceneEntityDeletion", &[("timestamp", 1, "Timestamp"), ("type", 2, "DeletionType"), ("id", 3, "string")]),
    ("SceneUpdate", &[("deletions", 1, "[SceneEntityDeletion]"), ("entities", 2, "[SceneEntity]")]),
];

const ENUMS: &[(&str, &[&str])] =
    &[("LineType", &["LINE_STRIP", "LINE_LOOP", "LINE_LIST"]), ("DeletionType", &["MATCHING_ID", "ALL"])];

/// The `FileDescriptorSet` with all of Foxglove's messages that recordings have, and those within them.
pub fn descriptors() -> Vec<u8> {
    let time = file("google/protobuf/timestamp.proto", "google.protobuf", &[], TIME, &[]);
    let duration = file("google/protobuf/duration.proto", "google.protobuf", &[], DURATION, &[]);
    let needs = ["google/protobuf/timestamp.proto", "google/protobuf/duration.proto"];
    let scene = file("foxglove/scene.proto", "foxglove", &needs, MESSAGES, ENUMS);
    Message::new().messages(1, &[time, duration, scene]).finish()
}

/// A `FileDescriptorProto`.
fn file(
    name: &str,
    package: &str,
    needs: &[&str],
    messages: &[(&str, &[Field])],
    enums: &[(&str, &[&str])],
) -> Message {
    let file = Message::new().text(1, name).text(2, package);
    let file = needs.iter().fold(file, |file, need| file.text(3, need));
    let messages: Vec<Message> = messages.iter().map(|(name, fields)| message(name, fields)).collect();
    let enums: Vec<Message> = enums.iter().map(|(name, values)| enumeration(name, values)).collect();
    file.messages(4, &messages).messages(5, &enums).text(12, "proto3")
}

/// A `DescriptorProto`.
fn message(name: &str, fields: &[Field]) -> Message {
    let fields: Vec<Message> = fields.iter().map(field).collect();
    Message::new().text(1, name).messages(2, &fields)
}

/// A `FieldDescriptorProto`.
fn field(&(name, number, kind): &Field) -> Message {
    let (kind, label) = kind.strip_prefix('[').map_or((kind, 1), |kind| (kind.trim_end_matches(']'), 3));
    let (code, of) = match kind {
        "double" => (1, String::new()),
        "int64" => (3, String::new()),
        "int32" => (5, String::new()),
        "fixed32" => (7, String::new()),
        "bool" => (8, String::new()),
        "string" => (9, String::new()),
        "bytes" => (12, String::new()),
        "Timestamp" | "Duration" => (11, format!(".google.protobuf.{kind}")),
        kind if kind.ends_with("Type") => (14, format!(".foxglove.{kind}")),
        kind => (11, format!(".foxglove.{kind}")),
    };
    Message::new().text(1, name).integer(3, number).integer(4, label).integer(5, code).text(6, &of)
}

/// An `EnumDescriptorProto`.
fn enumeration(name: &str, values: &[&str]) -> Message {
    let value = |(number, value): (u64, &&str)| Message::new().text(1, value).integer(2, number);
    let values: Vec<Message> = (0..).zip(values).map(value).collect();
    Message::new().text(1, name).messages(2, &values)
}
