//! Pads of taxels in scene files, and what is said of wrong ones.

use std::fs;

use fingertip::description::Scene;

const SCENE: &str = "[[object]]\nname = \"ball\"\nsphere = 0.04\nmass = 0.5\nfreedom = \"free\"\n\
    [[robot]]\nname = \"hand\"\nurdf = \"robots/hand21.urdf\"\n[[taxels]]\nname = \"pad\"\n";

fn read(pad: &str) -> fingertip::Result<Scene> {
    Scene::from_toml(&format!("{SCENE}{pad}"), "assets")
}

/// Columns along x, rows along y, z outwards; all of it turned by a quarter about x, so that y is the link's z.
#[test]
fn a_grid() {
    let scene = read(
        "link = \"hand/finger_r_link_2_index4\"\nat = [0.1, 0.2, 0.3]\nrpy = [1.5707963267948966, 0.0, 0.0]\nrows = 2\n\
         columns = 3\nsize = [0.03, 0.04]\n",
    );
    let pad = scene.unwrap().taxels.remove(0);
    assert_eq!((pad.name.as_str(), pad.points.len(), pad.reach), ("pad", 6, 0.04));
    let near = |a: [f64; 3], b: [f64; 3]| a.iter().zip(b).all(|(a, b)| (a - b).abs() < 1e-15);
    assert!(near(pad.points[0], [0.09, 0.2, 0.29]) && near(pad.points[2], [0.11, 0.2, 0.29]), "{:?}", pad.points);
    assert!(near(pad.points[3], [0.09, 0.2, 0.31]), "{:?}", pad.points);
    assert!(pad.normals.iter().all(|&normal| near(normal, [0.0, -1.0, 0.0])), "{:?}", pad.normals);
}

#[test]
fn a_file() {
    let folder = std::env::temp_dir().join(format!("fingertip-taxels-{}", std::process::id()));
    fs::create_dir_all(&folder).unwrap();
    let with = |text: &str| {
        fs::write(folder.join("pad.csv"), text).unwrap();
        let scene = "[[object]]\nname = \"ball\"\nsphere = 0.04\nmass = 0.5\nfreedom = \"free\"\n[[taxels]]\nname = \"pad\"\nlink = \"ball\"\n\
            at = [0.0, 0.0, 1.0]\nfile = \"pad.csv\"\nreach = 0.01\n";
        Scene::from_toml(scene, &folder)
    };
    let pad = with("x,y,z,nx,ny,nz\n0.1, 0, 0, 0, 0, 2 # on top\n\n0,0.2,0,3,0,4\n").unwrap().taxels.remove(0);
    assert_eq!(pad.points, [[0.1, 0.0, 1.0], [0.0, 0.2, 1.0]]);
    assert_eq!(pad.normals, [[0.0, 0.0, 1.0], [0.6, 0.0, 0.8]]);
    for (text, says) in [
        ("0,0,0,0,0,1\n0,0,0,1\n", "\"pad.csv\": line 2: expected six numbers x, y, z, nx, ny, nz, got \"0,0,0,1\""),
        ("0,0,0,0,0,0\n", "\"pad.csv\": line 1: expected a normal that has a length"),
        ("0,0,0,0,0,1,7\n", "expected six numbers"),
        ("x,y,z,nx,ny,nz\n", "expected 1 to 100000"),
        ("0,0,nan,0,0,1\n", "point"),
    ] {
        let error = with(text).unwrap_err().to_string();
        assert!(error.contains("taxels \"pad\": ") && error.contains(says), "{text}: {error}");
    }
    fs::remove_dir_all(&folder).unwrap();
}

#[test]
fn wrong_pads() {
    let grid = "rows = 2\ncolumns = 2\nsize = [0.01, 0.01]\n";
    for (pad, says) in [
        (format!("link = \"bal\"\n{grid}"), "did you mean \"ball\""),
        (format!("link = \"hand\"\n{grid}"), "link: expected one of its links"),
        (format!("link = \"hand/tip\"\n{grid}"), "link"),
        ("link = \"ball\"\n".to_owned(), "rows: expected rows, columns and size, or a file"),
        ("link = \"ball\"\nrows = 2\ncolumns = 2\n".to_owned(), "expected rows, columns and size"),
        (format!("link = \"ball\"\nfile = \"a.csv\"\n{grid}"), "file: expected without rows"),
        ("link = \"ball\"\nfile = \"a.csv\"\n".to_owned(), "reach: expected a length"),
        (format!("link = \"ball\"\nreach = 0.0\n{grid}"), "reach"),
        (
            "link = \"ball\"\nrows = 0\ncolumns = 2\nsize = [0.01, 0.01]\n".to_owned(),
            "expected 1 to 100000 taxels, got 0 × 2",
        ),
        ("link = \"ball\"\nrows = 1000\ncolumns = 1000\nsize = [0.01, 0.01]\n".to_owned(), "got 1000 × 1000"),
        (
            "link = \"ball\"\nrows = 2\ncolumns = 2\nsize = [0.01, -1.0]\n".to_owned(),
            "size: expected two positive lengths",
        ),
        (format!("link = \"ball\"\n{grid}[[taxels]]\nname = \"pad\"\nlink = \"ball\"\n{grid}"), "pad"),
    ] {
        let error = read(&pad).expect_err(&pad).to_string();
        assert!(error.contains(says), "{pad}: {error}");
    }
}
