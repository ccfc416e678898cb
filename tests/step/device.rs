//! Devices by name.

use fingertip::device;

#[test]
fn names_of_no_device_are_errors() {
    assert!(device("cpu").is_ok_and(|device| device.is_cpu()));
    for name in ["", "gpu", "cuda:", "cuda:-1", "cuda:+1", "cuda:one", "cuda:99999999999999999999999", "CPU"] {
        let error = device(name).map(drop).unwrap_err().to_string();
        assert!(error.starts_with("device: expected") || error.contains("cuda:"), "{error}");
    }
}

#[test]
#[cfg(not(feature = "cuda"))]
fn a_build_without_the_feature_says_so() {
    let error = device("cuda:0").map(drop).unwrap_err().to_string();
    assert!(error.contains("feature `cuda`"), "{error}");
}
