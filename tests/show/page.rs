//! The page is put together of its pieces.

use fingertip_show::inner::{MODULES, fill};

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
