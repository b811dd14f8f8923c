//! The watcher's blocks in the data directory. They may be lost at any time, so no fault of theirs
//! keeps the ledger from starting.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;
use x811_protocol::digest::Digest;
use x811_protocol::evm::{BlockHash, EvmAddress, TxHash};
use x811_protocol::money::MicroUsdc;
use x811_protocol::observation::Transfer;
use x811_store::{ChainBlock, ChainBlocks, OpenError};
use x811_watcher::{BlockStore, BlockStoreError, Header, TailBlock, TailChange, TokenTransaction};

/// Where they lie; nowhere when the file can be neither used nor made anew.
#[derive(Debug, Clone)]
pub(super) struct KeptBlocks(Option<Arc<ChainBlocks>>);

impl KeptBlocks {
    /// Opens them; a file that cannot be used is replaced by an empty one.
    pub(super) async fn open(data_dir: &Path) -> KeptBlocks {
        let opened = match ChainBlocks::open(data_dir).await {
            Err(error) => {
                tracing::warn!(%error, "the watcher's blocks cannot be used and are asked for again");
                anew(data_dir).await
            }
            opened => opened,
        };
        let chain = opened.inspect_err(|error| {
            tracing::warn!(%error, "the watcher's blocks are not kept");
        });
        KeptBlocks(chain.ok().map(Arc::new))
    }

    /// Closes the file in order.
    pub(super) async fn close(&self) {
        if let Some(chain) = &self.0 {
            chain.close().await;
        }
    }
}

async fn anew(data_dir: &Path) -> Result<ChainBlocks, OpenError> {
    ChainBlocks::remove(data_dir)?;
    ChainBlocks::open(data_dir).await
}

impl BlockStore for KeptBlocks {
    async fn load(&self, network: &str) -> Result<Vec<TailBlock>, BlockStoreError> {
        let Some(chain) = &self.0 else {
            return Ok(Vec::new());
        };
        let blocks = chain.blocks(network).await.map_err(BlockStoreError::new)?;
        let read: Option<Vec<TailBlock>> = blocks.iter().map(tail_block).collect();
        read.ok_or_else(|| BlockStoreError::new("what moved in a block is not readable"))
    }

    async fn save(&self, network: &str, change: TailChange<'_>) -> Result<(), BlockStoreError> {
        let Some(chain) = &self.0 else {
            return Ok(());
        };
        let added: Vec<ChainBlock> = change.added.iter().map(chain_block).collect();
        let kept = change.keep_from..change.replace_from;
        let changed = chain.change(network, kept, &added).await;
        changed.map_err(BlockStoreError::new)
    }
}

fn chain_block(block: &TailBlock) -> ChainBlock {
    ChainBlock {
        number: block.header.number,
        hash: *block.header.hash.as_bytes(),
        parent: *block.header.parent.as_bytes(),
        timestamp_s: block.header.timestamp_s,
        moved: written(&block.transactions),
    }
}

fn tail_block(block: &ChainBlock) -> Option<TailBlock> {
    Some(TailBlock {
        header: Header {
            number: block.number,
            hash: BlockHash::from_bytes(block.hash),
            parent: BlockHash::from_bytes(block.parent),
            timestamp_s: block.timestamp_s,
        },
        transactions: read(&block.moved)?,
    })
}

/// In the count of a transaction's transfers: authorizations come after them.
const IS_AUTHORIZED: u32 = 1 << 31;

/// For each transaction its hash, how many transfers it has (4 bytes), and for each of those payer,
/// payee and micro-USDC (8 bytes); integers with the highest byte first. The ordinal is the place.
/// Where [`IS_AUTHORIZED`] is set in the count: how many authorizations there are (4 bytes), and for
/// each the ordinal (8 bytes) and the nonce.
fn written(transactions: &[TokenTransaction]) -> Vec<u8> {
    let mut bytes = Vec::new();
    for transaction in transactions {
        bytes.extend(transaction.tx_hash.as_bytes());
        let authorizations = &transaction.authorizations;
        let mark = if authorizations.is_empty() {
            0
        } else {
            IS_AUTHORIZED
        };
        bytes.extend((count(transaction.transfers.len()) | mark).to_be_bytes());
        for transfer in &transaction.transfers {
            bytes.extend(transfer.from.as_bytes());
            bytes.extend(transfer.to.as_bytes());
            bytes.extend(transfer.amount.as_micro_usdc().to_be_bytes());
        }
        if !authorizations.is_empty() {
            bytes.extend(count(authorizations.len()).to_be_bytes());
        }
        for (ordinal, nonce) in authorizations {
            bytes.extend(ordinal.to_be_bytes());
            bytes.extend(nonce.as_bytes());
        }
    }
    bytes
}

/// No block has so many of anything that its gas would not run out before.
fn count(of: usize) -> u32 {
    u32::try_from(of).map_or(!IS_AUTHORIZED, |count| count & !IS_AUTHORIZED)
}

fn read(mut bytes: &[u8]) -> Option<Vec<TokenTransaction>> {
    let mut transactions = Vec::new();
    while !bytes.is_empty() {
        let tx_hash = TxHash::from_bytes(take(&mut bytes)?);
        let count = u32::from_be_bytes(take(&mut bytes)?);
        let is_authorized = count & IS_AUTHORIZED != 0;
        let transfers = (0..u64::from(count & !IS_AUTHORIZED)).map(|ordinal| {
            Some(Transfer {
                authorization_nonce: None,
                ordinal,
                from: EvmAddress::from_bytes(take(&mut bytes)?),
                to: EvmAddress::from_bytes(take(&mut bytes)?),
                amount: MicroUsdc::from_micro_usdc(u64::from_be_bytes(take(&mut bytes)?)).ok()?,
            })
        });
        let transfers = transfers.collect::<Option<_>>()?;
        let authorizations = if is_authorized {
            read_authorizations(&mut bytes)?
        } else {
            BTreeMap::new()
        };
        transactions.push(TokenTransaction {
            tx_hash,
            transfers,
            authorizations,
        });
    }
    Some(transactions)
}

fn read_authorizations(bytes: &mut &[u8]) -> Option<BTreeMap<u64, Digest>> {
    let count = u32::from_be_bytes(take(bytes)?);
    let authorizations = (0..count).map(|_| {
        let ordinal = u64::from_be_bytes(take(bytes)?);
        Some((ordinal, Digest::from_bytes(take(bytes)?)))
    });
    authorizations.collect()
}

fn take<const LENGTH: usize>(bytes: &mut &[u8]) -> Option<[u8; LENGTH]> {
    let (taken, rest) = bytes.split_first_chunk()?;
    *bytes = rest;
    Some(*taken)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sample() -> TailBlock {
        let transfer = |ordinal| Transfer {
            authorization_nonce: None,
            ordinal,
            from: EvmAddress::from_bytes([1; 20]),
            to: EvmAddress::from_bytes([2; 20]),
            amount: MicroUsdc::from_micro_usdc(29_725 + ordinal).unwrap(),
        };
        TailBlock {
            header: Header {
                number: 7,
                hash: BlockHash::from_bytes([7; 32]),
                parent: BlockHash::from_bytes([6; 32]),
                timestamp_s: 14,
            },
            transactions: vec![
                TokenTransaction {
                    tx_hash: TxHash::from_bytes([3; 32]),
                    transfers: (0..3).map(transfer).collect(),
                    authorizations: BTreeMap::from([(2, Digest::of(b"nonce"))]),
                },
                TokenTransaction {
                    tx_hash: TxHash::from_bytes([4; 32]),
                    transfers: vec![transfer(0)],
                    authorizations: BTreeMap::new(),
                },
            ],
        }
    }

    #[test]
    fn what_moved_is_read_as_it_was_written_and_cut_bytes_are_refused() {
        let stored = chain_block(&sample());
        assert_eq!(tail_block(&stored), Some(sample()));
        assert_eq!(stored.moved.len(), 2 * 36 + 4 * 48 + 4 + 40);
        assert_eq!(read(&stored.moved[..stored.moved.len() - 1]), None);
        assert_eq!(read(&stored.moved[..36 + 3 * 48 + 4]), None);
        assert_eq!(read(&[]), Some(Vec::new()));
    }

    /// As written before authorizations were: hash, count, transfers.
    #[test]
    fn sw_18_a_block_kept_by_an_earlier_version_is_read() {
        let mut bytes = [3; 32].to_vec();
        bytes.extend([0, 0, 0, 1]);
        bytes.extend([[1; 20], [2; 20]].concat());
        bytes.extend(29_725_u64.to_be_bytes());
        let read = read(&bytes).unwrap();
        assert_eq!((read.len(), read[0].transfers.len()), (1, 1));
        assert_eq!(read[0].authorizations, BTreeMap::new());
    }

    #[tokio::test]
    async fn a_file_that_is_no_database_is_replaced() {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("chain.db"), [b'x'; 9_000]).unwrap();
        let kept = KeptBlocks::open(folder.path()).await;
        let added = [sample()];
        let change = TailChange {
            keep_from: 0,
            replace_from: 7,
            added: &added,
        };
        kept.save("base", change).await.unwrap();
        assert_eq!(kept.load("base").await.unwrap(), added);
        kept.close().await;
    }
}
