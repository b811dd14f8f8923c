//! TLS of the double: a private authority, and a certificate for the loopback address.

use std::io::Write as _;
use std::path::Path;
use std::sync::Arc;

use rcgen::{
    BasicConstraints, CertificateParams, DistinguishedName, DnType, IsCa, Issuer, KeyPair,
};
use rustls::ServerConfig;
use rustls::crypto::ring;
use rustls::pki_types::{PrivateKeyDer, PrivatePkcs8KeyDer};
use tempfile::NamedTempFile;
use tokio::net::TcpStream;
use tokio_rustls::TlsAcceptor;
use tokio_rustls::server::TlsStream;

/// First byte of a TLS handshake.
const HANDSHAKE: u8 = 22;

/// An authority that nobody else trusts, and the certificate that it issued.
#[derive(Debug)]
pub(super) struct Authority {
    config: Arc<ServerConfig>,
    file: NamedTempFile,
}

impl Authority {
    pub(super) fn new() -> Authority {
        let mut params = CertificateParams::new(Vec::<String>::new()).unwrap();
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        params.distinguished_name = DistinguishedName::new();
        params
            .distinguished_name
            .push(DnType::CommonName, "authority of the double");
        let key = KeyPair::generate().unwrap();
        let mut file = NamedTempFile::new().unwrap();
        let certificate = params.self_signed(&key).unwrap();
        file.write_all(certificate.pem().as_bytes()).unwrap();
        let issuer = Issuer::new(params, key);

        let key = KeyPair::generate().unwrap();
        let params = CertificateParams::new(vec!["127.0.0.1".to_owned()]).unwrap();
        let certificate = params.signed_by(&key, &issuer).unwrap();
        let key = PrivateKeyDer::Pkcs8(PrivatePkcs8KeyDer::from(key.serialize_der()));
        let mut config = ServerConfig::builder_with_provider(ring::default_provider().into())
            .with_safe_default_protocol_versions()
            .unwrap()
            .with_no_client_auth()
            .with_single_cert(vec![certificate.der().clone()], key)
            .unwrap();
        config.alpn_protocols = vec![b"h2".to_vec(), b"http/1.1".to_vec()];
        Authority {
            config: config.into(),
            file,
        }
    }

    /// Returns the file with the authority's certificate, which is removed with this.
    pub(super) fn path(&self) -> &Path {
        self.file.path()
    }

    pub(super) fn config(&self) -> Arc<ServerConfig> {
        self.config.clone()
    }
}

/// Accepts a TLS connection. Any other one is closed without an answer, as by the real server.
pub(super) async fn accept(
    connection: TcpStream,
    config: Arc<ServerConfig>,
) -> Option<TlsStream<TcpStream>> {
    let mut first = [0];
    connection.peek(&mut first).await.ok()?;
    if first != [HANDSHAKE] {
        return None;
    }
    TlsAcceptor::from(config).accept(connection).await.ok()
}
