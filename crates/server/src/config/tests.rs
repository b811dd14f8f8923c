//! What a configuration must be.

use super::*;

fn config() -> ServerConfig {
    let url = RpcUrl::new("http://user:secret@127.0.0.1:8545");
    ServerConfig::new("data", NetworkConfig::base(url))
}

#[test]
fn the_presets_are_valid_and_the_address_of_usdc_is_circles() {
    assert_eq!(config().validate(), Ok(()));
    let checksum = "0x833589fCD6eDb6E08f4c7C32D4f71b54bdA02913";
    assert_eq!(BASE_USDC.to_checksum(), checksum);
    let sepolia = NetworkConfig::base_sepolia(RpcUrl::new("http://127.0.0.1:8545"));
    let checksum = "0x036CbD53842c5426634e7929541eC2318f3dCF7e";
    assert_eq!(sepolia.token.to_checksum(), checksum);
    assert_eq!(ServerConfig::new("data", sepolia).validate(), Ok(()));
    let local = NetworkConfig::local(RpcUrl::new("http://127.0.0.1:8545"), BASE_USDC);
    assert_eq!(ServerConfig::new("data", local).validate(), Ok(()));
}

#[test]
fn the_checkpoint_lies_beside_the_data_directory() {
    let directory = |data_dir: &str| {
        let network = config().network;
        ServerConfig::new(data_dir, network).checkpoint_directory()
    };
    let beside = Some(PathBuf::from("/srv/x811-data-checkpoint"));
    assert_eq!(directory("/srv/x811-data"), beside);
    assert_eq!(directory("/srv/x811-data/"), beside);
    let here = std::env::current_dir().unwrap();
    assert_eq!(directory("./data"), Some(here.join("data-checkpoint")));
    assert_eq!(directory("/"), None);
    assert_eq!(directory("data/.."), None);
}

#[test]
fn a_shortened_accept_window_still_lets_offers_in() {
    let mut short = config();
    assert_eq!(short.parameters().limits.offer_min_live_ms, 5_000);
    short.windows.accept_ms = MIN_WINDOW_MS;
    assert_eq!(short.parameters().limits.offer_min_live_ms, 1_000);
}

#[test]
fn every_fault_has_its_sentence() {
    type Spoil = fn(&mut ServerConfig);
    let table: [(Spoil, &str); 18] = [
        (
            |c| c.limits.clock_tolerance_ms = 300_001,
            "tolerance is 300001 ms",
        ),
        (|c| c.snapshot_every_records = 0, "every 0 records"),
        (
            |c| {
                c.open_reads = true;
                c.listen = SocketAddr::from(([0, 0, 0, 0], 8811));
            },
            "loopback",
        ),
        (
            |c| {
                c.open_reads = true;
                c.public_authorities = vec!["ledger.example.org".to_owned()];
            },
            "leave one of the two out",
        ),
        (
            |c| c.windows.verify_ms = 1_999,
            "the verify window is 1999 ms",
        ),
        (|c| c.looks_ms[3] = 0, "the fourth look is 0 ms"),
        (|c| c.connections.max_connections = 0, "limit is 0"),
        (|c| c.network.name = "Base".to_owned(), "[a-z0-9-]"),
        (|c| c.network.chain_id = ChainId::new(0), "chain id is 0"),
        (|c| c.network.confirmed_depth = 0, "depth is 0"),
        (|c| c.network.endpoint_quorum = Some(2), "endpoint_quorum"),
        (|c| c.network.endpoint_quorum = Some(0), "endpoint_quorum"),
        (|c| c.network.poll_ms = 0, "0 ms"),
        (
            |c| {
                c.network.chain_id = ChainId::new(8_453);
                c.network.final_by = FinalBy::Depth;
            },
            "those of Base name one",
        ),
        (
            |c| c.network.endpoints[0].label = "https://host/key".to_owned(),
            "never the URL",
        ),
        (
            |c| {
                let twin = c.network.endpoints[0].clone();
                c.network.endpoints.push(twin);
            },
            "a label of its own",
        ),
        (|c| c.network.endpoints.clear(), "1 to 4 RPC endpoints"),
        (|c| c.network.token = EvmAddress::ZERO, "zero address"),
    ];
    for (spoil, sentence) in table {
        let mut config = config();
        spoil(&mut config);
        let error = config.validate().unwrap_err().to_string();
        assert!(error.contains(sentence), "{error}");
    }
}

#[test]
fn all_that_is_wrong_is_said_at_once() {
    let mut config = config();
    config.snapshot_every_records = 0;
    config.windows.verify_ms = 1;
    config.looks_ms[0] = 2;
    config.contracts = Some(Contracts {
        max_turns: 0,
        ..Contracts::DEFAULT
    });
    config.network.poll_ms = 0;
    let said = config.validate().unwrap_err().to_string();
    for fault in [
        "every 0 records",
        "verify window is 1 ms",
        "first look is 2 ms",
        "[contracts]",
        "two polls is 0 ms",
    ] {
        assert!(said.contains(fault), "{fault}: {said}");
    }
    assert_eq!(said.matches(" · ").count(), 4, "{said}");
}

#[test]
fn open_reads_are_for_loopback_of_both_families() {
    for listen in ["127.0.0.1:0", "127.8.8.8:1", "[::1]:0"] {
        let mut config = config();
        config.open_reads = true;
        config.listen = listen.parse().unwrap();
        assert_eq!(config.validate(), Ok(()), "{listen}");
    }
}

#[test]
fn a_public_authority_is_what_clients_sign() {
    let mut config = config();
    for good in [
        "ledger.example.org",
        "ledger.example.org:8811",
        "[2001:db8::1]:8811",
    ] {
        config.public_authorities = vec![good.to_owned()];
        assert_eq!(config.validate(), Ok(()), "{good}");
    }
    for bad in [
        "",
        "https://ledger.example.org",
        "ledger.example.org/x811",
        "user@ledger.example.org",
        "ledger.example.org:443",
        "ledger.example.org:80",
        "ledger.example.org:",
        "ledger.example.org:x",
        "ledger example org",
        "ledger.example.org,127.0.0.1:8811",
    ] {
        config.public_authorities = vec!["ledger.example.org".to_owned(), bad.to_owned()];
        let given = bad.to_owned();
        let fault = ConfigError::PublicAuthority { given };
        assert_eq!(config.validate(), Err(ConfigErrors(vec![fault])), "{bad}");
    }
}

#[test]
fn the_rpc_url_is_never_shown() {
    assert!(!format!("{:?}", config()).contains("secret"));
}

#[test]
fn rec_2_parameters_hold_what_decides_and_no_url() {
    let parameters = serde_json::to_value(config().parameters()).unwrap();
    assert_eq!(parameters["networks"][0]["confirmed_depth"], 12);
    assert_eq!(
        parameters["looks_ms"],
        serde_json::json!([5_000, 15_000, 60_000, 300_000])
    );
    assert!(!parameters.to_string().contains("secret"));
}
