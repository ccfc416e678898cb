//! The text of a URDF: its elements, and what is taken out before it is read.

use fingertip_scene::inner::{mend, top_level};

#[test]
fn what_is_in_order_or_not_well_formed_stays() {
    let sound = "<robot><link name='a'><visual><origin/><geometry><box/></geometry></visual></link>\
                 <joint name='j' type='fixed'><axis xyz='1 0 0'/><limit velocity='1'/></joint></robot>";
    assert_eq!(mend(sound), (sound.to_owned(), Vec::new()));
    let broken = "<robot><link><visual></link></robot>";
    assert_eq!(mend(broken), (broken.to_owned(), Vec::new()));
}

#[test]
fn materials_and_foreign_elements() {
    let text = "<robot xmlns:known='x'><gazebo><sensor:camera name='c'><known:a/></sensor:camera><known:b/></gazebo><link name='a'><visual>\
                <geometry><box/></geometry><material name='x'><texture/><color/></material><material name='y'/></visual></link>\
                <sensor:ray/><xacro:macro/></robot>";
    let (mended, notes) = mend(text);
    let expected = "<robot xmlns:known='x'><gazebo><known:b/></gazebo><link name='a'><visual><geometry><box/></geometry>\
                    <material name='x'><color/></material></visual></link><xacro:macro/></robot>";
    assert_eq!(mended, expected);
    assert_eq!(notes.len(), 4, "{notes:?}");
}

#[test]
fn what_nobody_reads_goes_and_lines_stay() {
    let text = "<robot><link name='a'><visual>\n</visual><collision><geometry><origin/><box/></geometry></collision></link>\n\
                <joint name='j' type='fixed'><axis/><limit lower='0'/></joint></robot>";
    let (mended, notes) = mend(text);
    assert_eq!(notes.len(), 4, "{notes:?}");
    let expected = "<robot><link name='a'>\n<collision><geometry><box/></geometry></collision></link>\n\
                    <joint name='j' type='fixed'><limit velocity=\"0\" lower='0'/></joint></robot>";
    assert_eq!(mended, expected);
}

#[test]
fn finds_elements_between_comments_and_quotes() {
    let text = "<?xml version='1.0'?>\n<!-- <link name='no'/> -->\n<robot name='r'>\n<link\n name=\"a>b\"/>\n\
                <gazebo><link name='inner'/></gazebo>\n<joint type='fixed' name = 'j'><origin/></joint></robot>";
    let (root, elements) = top_level(text);
    assert_eq!(root, Some("robot"));
    let found: Vec<_> = elements.iter().map(|e| (e.tag, e.name, e.line)).collect();
    assert_eq!(found, [("link", "a>b", 4), ("gazebo", "", 6), ("joint", "j", 7)]);
    assert_eq!(elements[2].text, "<joint type='fixed' name = 'j'><origin/></joint>");
}

#[test]
fn any_text_will_do() {
    let whole = "<a b=\"\u{e9}\" name='x'><!--c--><d/><![CDATA[<]]></a></a>";
    for end in (0..=whole.len()).filter(|&i| whole.is_char_boundary(i)) {
        top_level(&whole[..end]);
        top_level(&whole[end..]);
    }
}
