//! The page is put together of its pieces.

use candle_core::{DType, Device};
use data_encoding::BASE64;
use fingertip::Model;
use fingertip::description::Scene;
use fingertip::show::{Recording, Source, record};
use fingertip::step::Quasidynamic;
use fingertip_show::inner::{MODULES, fill};
use serde_json::Value;

fn recorded(scene: &str, steps: usize) -> Recording {
    let scene = Scene::load(format!("assets/scenes/{scene}.toml")).unwrap();
    let model = Model::new(&scene, DType::F64, &Device::Cpu).unwrap();
    let step = Quasidynamic::new(&model, &model.parameters).unwrap();
    let source = Source { name: String::new(), text: String::new(), scene: scene.clone() };
    record(&source, &step, steps, |_, time| scene.control(time), |_| Ok(())).unwrap()
}

/// Of the contacts that a hand has room for, frames hold those that take part, with their numbers.
#[test]
fn frames_hold_the_contacts_that_take_part() {
    let recording = recorded("allegro_plate", 20);
    let page = recording.html();
    let part = |id: &str| page.split(&format!("id=\"{id}\">")).nth(1).unwrap().split("</script>").next().unwrap();
    let header: Value = serde_json::from_str(part("header")).unwrap();
    let at = |key: &str| usize::try_from(header["layout"][key].as_u64().unwrap()).unwrap();
    let rows = BASE64.decode(part("frames").as_bytes()).unwrap();
    let rows: Vec<f32> = rows.as_chunks().0.iter().map(|&number| f32::from_le_bytes(number)).collect();
    let (first, stride) = (at("contacts"), at("stride"));
    let most = recording.steps.iter().map(|step| step.contacts.iter().len()).max().unwrap();
    assert!((1..recording.contacts.len() / 2).contains(&most), "{most} of {}", recording.contacts.len());
    assert_eq!((rows.len(), stride - first), (21 * stride, 11 * most));
    for (row, step) in rows.chunks_exact(stride).skip(1).zip(&recording.steps) {
        let (there, none) = row[first..].split_at(11 * step.contacts.iter().len());
        assert!(none.iter().all(|x| x.is_nan()));
        for (drawn, one) in there.chunks_exact(11).zip(&step.contacts) {
            let numbers = [&[one.contact as f64, one.phi][..], &one.normal, &one.point, &one.force].concat();
            assert!(drawn.iter().zip(numbers).all(|(&a, b)| a == b as f32), "{drawn:?} {one:?}");
        }
    }
}

/// A mesh's corners and triangles are packed: 16 bits for a place among few corners, 32 among many.
#[test]
fn meshes_are_packed() {
    for n in [5, 70_000] {
        let mut recording = recorded("push", 1);
        let mesh = &mut recording.shapes[0];
        mesh.kind = "mesh".into();
        mesh.vertices = (0..n).map(|k| [0.1, f64::from(k), -1e-3]).collect();
        mesh.faces = vec![vec![0, 2, 1], vec![1, 3, n as usize - 1]];
        let page = recording.html();
        let header = page.split("id=\"header\">").nth(1).unwrap().split("</script>").next().unwrap();
        let shape = &serde_json::from_str::<Value>(header).unwrap()["scene"]["shapes"][0];
        let [vertices, faces] =
            ["vertices", "faces"].map(|key| BASE64.decode(shape[key].as_str().unwrap().as_bytes()).unwrap());
        let vertices = vertices.as_chunks().0.iter().map(|&x| f32::from_le_bytes(x)).collect::<Vec<f32>>();
        assert_eq!(vertices, recording.shapes[0].vertices.concat().iter().map(|&x| x as f32).collect::<Vec<f32>>());
        let faces: Vec<usize> = if n > 1 << 16 {
            faces.as_chunks().0.iter().map(|&x| u32::from_le_bytes(x) as usize).collect()
        } else {
            faces.as_chunks().0.iter().map(|&x| u16::from_le_bytes(x).into()).collect()
        };
        assert_eq!(faces, recording.shapes[0].faces.concat());
    }
}

#[test]
fn the_pieces_are_in_their_places() {
    let page = fill(&serde_json::json!({ "name": "</script>{{frames}}" }), "AAAA");
    assert!(page.contains("\\u003c/script>{{frames}}") && page.contains(">AAAA</script>"));
    assert!(page.ends_with("</html>\n") && !page.contains("{{style}}"));
}

/// No import of a module that is not there.
#[test]
fn imports_are_ours() {
    for (name, text) in MODULES {
        for import in text.lines().filter_map(|line| line.strip_prefix("import ")?.split('"').nth(1)) {
            let known = import.strip_prefix("fingertip/").is_some_and(|i| MODULES.iter().any(|(m, _)| *m == i));
            assert!(known, "{name}: {import}");
        }
    }
}
