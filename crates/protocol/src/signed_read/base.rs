//! What is signed: the signature base of RFC 9421 section 2.5.

use std::fmt::Write as _;

/// The signature base: a line for each covered component, then the signature's own parameters. No
/// value may hold a line feed; HTTP allows none in what is covered here.
pub(super) fn signature_base(covered: &[(&str, &str)], parameters: &str) -> String {
    let mut base = String::new();
    for (component, value) in covered {
        // Writing to a String cannot fail.
        let _ = writeln!(base, "\"{component}\": {value}");
    }
    let _ = write!(base, "\"@signature-params\": {parameters}");
    base
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::key::{PublicKey, SecretKey};
    use crate::signature::Signature;

    use base64::Engine as _;
    use base64::engine::general_purpose::{STANDARD, URL_SAFE_NO_PAD};

    /// RFC 9421 appendix B.1.4.
    const SECRET: &str = "n4Ni-HpISpVObnQMW0wOhCKROaIKqKtW_2ZYb2p9KcU";
    const PUBLIC: &str = "JrQLj5P_89iXES9-vFgrIy29clF9CC_oPPsw3c5D0bs";

    fn bytes(base64url: &str) -> [u8; 32] {
        let bytes = URL_SAFE_NO_PAD.decode(base64url).unwrap();
        bytes.try_into().unwrap()
    }

    #[test]
    fn promise_7_known_answer_of_rfc_9421_appendix_b_2_6() {
        let parameters = "(\"date\" \"@method\" \"@path\" \"@authority\" \"content-type\" \
                          \"content-length\");created=1618884473;keyid=\"test-key-ed25519\"";
        let base = signature_base(
            &[
                ("date", "Tue, 20 Apr 2021 02:07:55 GMT"),
                ("@method", "POST"),
                ("@path", "/foo"),
                ("@authority", "example.com"),
                ("content-type", "application/json"),
                ("content-length", "18"),
            ],
            parameters,
        );
        let expected = "\"date\": Tue, 20 Apr 2021 02:07:55 GMT\n\
            \"@method\": POST\n\
            \"@path\": /foo\n\
            \"@authority\": example.com\n\
            \"content-type\": application/json\n\
            \"content-length\": 18\n\
            \"@signature-params\": (\"date\" \"@method\" \"@path\" \"@authority\" \"content-type\" \
            \"content-length\");created=1618884473;keyid=\"test-key-ed25519\"";
        assert_eq!(base, expected);

        let signature = "wqcAqbmYJ2ji2glfAMaRy4gruYYnx2nEFN2HN6jrnDnQCK1u02Gb04v9EDgwUPiu4A0w6\
                         vuQv5lIp5WPpBKRCw==";
        let signature = STANDARD.decode(signature).unwrap();
        let signature = Signature::from_bytes(signature.try_into().unwrap());
        let secret = SecretKey::from_seed(bytes(SECRET));
        let public = PublicKey::from_bytes(&bytes(PUBLIC)).unwrap();
        assert_eq!(secret.public(), public);
        assert_eq!(secret.sign(base.as_bytes()), signature);
        assert!(public.verify(base.as_bytes(), &signature));
        assert!(!public.verify(base.replace("/foo", "/bar").as_bytes(), &signature));
    }
}
