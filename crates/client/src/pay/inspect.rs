//! Inspection of a transaction that was made elsewhere, before a PAYMENT names it.

use alloy::primitives::{Address, B256, U256, address as known_address};
use alloy::providers::Provider;
use alloy::rpc::types::{Filter, Log};
use alloy::sol;
use alloy::sol_types::SolEvent;
use x811_protocol::digest::Digest;
use x811_protocol::evm::{EvmAddress, TxHash};
use x811_protocol::money::MicroUsdc;

use super::authorization::AuthorizationUsed;
use super::log_search::Searched;
use super::{PayClient, PayError};

sol! {
    event Transfer(address indexed from, address indexed to, uint256 value);
    event UserOperationEvent(
        bytes32 indexed userOpHash, address indexed sender, address indexed paymaster,
        uint256 nonce, bool success, uint256 actualGasCost, uint256 actualGasUsed
    );
}

/// The contracts that carry out user operations (ERC-4337, versions 0.6, 0.7 and 0.8).
const ENTRY_POINTS: [Address; 3] = [
    known_address!("5FF137D4b0FDCD49DcA30c7CF57E578a026d2789"),
    known_address!("0000000071727De22E5E9d8BAf0edAc6f37da032"),
    known_address!("4337084D9E255Ff0702461CF8895CE9E3b5Ff108"),
];

/// State of a transaction, as the endpoint reports it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Inspection {
    /// Neither a transaction nor a recent user operation has this hash.
    Unknown,
    /// The hash is that of a user operation, which this transaction carried out.
    UserOperation {
        /// The transaction.
        tx_hash: TxHash,
    },
    /// The transaction is in no block yet.
    Waiting,
    /// The transaction is in a block and did nothing.
    Reverted,
    /// The transaction is in a block.
    Mined(Movements),
}

/// Tokens that a transaction moved.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Movements {
    /// Transfers of the token, in order.
    pub transfers: Vec<TokenTransfer>,
    /// Transfers of other tokens: the token, and the account that got some.
    pub other_tokens: Vec<(EvmAddress, EvmAddress)>,
}

/// A transfer of the token.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TokenTransfer {
    /// The account that paid.
    pub from: EvmAddress,
    /// The account that was paid.
    pub to: EvmAddress,
    /// The amount.
    pub amount: MicroUsdc,
    /// The nonce of the EIP-3009 authorization that it was made under, if it was.
    pub authorization_nonce: Option<Digest>,
}

/// Members of the PAYMENT that would name the transaction.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Declaration {
    /// The account that has to be paid.
    pub payee: EvmAddress,
    /// The account that is said to have paid.
    pub payer: EvmAddress,
    /// Whether that account is a wallet bound to the initiator.
    pub is_bound: bool,
    /// The nonce of the interaction's own authorization.
    pub nonce: Digest,
}

impl Inspection {
    /// The reason why a ledger would not count the transaction, and the remedy; `None` if it would, or if
    /// that is not known yet.
    pub fn obstacle(&self, declared: &Declaration) -> Option<String> {
        let movements = match self {
            Inspection::Unknown | Inspection::Waiting => return None,
            Inspection::UserOperation { tx_hash } => {
                return Some(format!(
                    "this is the hash of a user operation; declare its transaction, {tx_hash}"
                ));
            }
            Inspection::Reverted => {
                return Some("the transaction reverted and moved nothing; pay again".to_owned());
            }
            Inspection::Mined(movements) => movements,
        };
        let mut transfers = movements.transfers.iter();
        if transfers.any(|transfer| declared.counts(transfer)) {
            return None;
        }
        Some(movements.obstacle(declared))
    }
}

impl Movements {
    fn obstacle(&self, declared: &Declaration) -> String {
        let payee = declared.payee.to_checksum();
        let mut arrived = self
            .transfers
            .iter()
            .filter(|it| it.to == declared.payee && !it.amount.is_zero());
        if let Some(arrived) = arrived.next() {
            let (amount, from) = (arrived.amount.to_usdc_decimal(), arrived.from.to_checksum());
            let why = match arrived.authorization_nonce {
                Some(nonce) if nonce != declared.nonce => format!(
                    "under the authorization {nonce}, which is not this interaction's, as payments \
                     by x402 are"
                ),
                Some(_) | None if arrived.from != declared.payer => {
                    format!(
                        "and not from {}; name it with --payer",
                        declared.payer.to_checksum()
                    )
                }
                Some(_) | None => "which is no wallet bound to the initiator, as an account of an \
                                   exchange is none"
                    .to_owned(),
            };
            return format!(
                "{amount} USDC came from {from} {why}. It does not count: have {payee} return it, or \
                 pay again from a bound wallet or under this interaction's authorization"
            );
        }
        let mut others = self.other_tokens.iter();
        match others.find(|(_, to)| *to == declared.payee) {
            Some((token, _)) => format!(
                "{payee} got another token, {}: USDbC and other tokens do not count, pay in USDC",
                token.to_checksum()
            ),
            None => format!("the transaction moved no USDC to {payee}"),
        }
    }

    fn read(logs: &[Log], token: Address) -> Movements {
        let mut movements = Movements::default();
        let mut used = None;
        for log in logs {
            let is_token = log.address() == token;
            if let (true, Ok(use_of)) = (is_token, log.log_decode_validate::<AuthorizationUsed>()) {
                used = Some(use_of.inner.data);
                continue;
            }
            // One of another form is no token's transfer.
            let Ok(moved) = log.log_decode_validate::<Transfer>() else {
                continue;
            };
            let (from, to) = (account(moved.inner.from), account(moved.inner.to));
            if !is_token {
                movements.other_tokens.push((account(log.address()), to));
                continue;
            }
            // An authorization belongs to the transfer right after it.
            let under = used.take().filter(|it| account(it.authorizer) == from);
            movements.transfers.push(TokenTransfer {
                from,
                to,
                amount: micro_usdc(moved.inner.value),
                authorization_nonce: under.map(|it| Digest::from_bytes(it.nonce.0)),
            });
        }
        movements
    }
}

impl Declaration {
    /// True if the transfer can be counted.
    fn counts(&self, transfer: &TokenTransfer) -> bool {
        let is_between = transfer.from == self.payer && transfer.to == self.payee;
        let is_proven = match transfer.authorization_nonce {
            Some(nonce) => nonce == self.nonce,
            None => self.is_bound,
        };
        is_between && is_proven && !transfer.amount.is_zero()
    }
}

impl PayClient {
    /// State of a transaction, as the endpoint reports it.
    ///
    /// # Errors
    /// [`PayError::Unreachable`], [`PayError::Refused`].
    pub async fn inspect(&self, tx_hash: TxHash) -> Result<Inspection, PayError> {
        let hash = B256::from(*tx_hash.as_bytes());
        let receipt = self.provider.get_transaction_receipt(hash).await;
        if let Some(receipt) = receipt.map_err(|error| self.failed(&error))? {
            return Ok(match receipt.status() {
                true => {
                    Inspection::Mined(Movements::read(receipt.logs(), super::address(self.token)))
                }
                false => Inspection::Reverted,
            });
        }
        let known = self.provider.get_transaction_by_hash(hash).await;
        if known.map_err(|error| self.failed(&error))?.is_some() {
            return Ok(Inspection::Waiting);
        }
        let carried_out = Filter::new()
            .address(ENTRY_POINTS.to_vec())
            .event_signature(UserOperationEvent::SIGNATURE_HASH)
            .topic1(hash);
        let found = match self.newest_log(&carried_out).await? {
            Searched::Found(log) => log.transaction_hash,
            Searched::Nothing { .. } => None,
        };
        Ok(
            found.map_or(Inspection::Unknown, |tx_hash| Inspection::UserOperation {
                tx_hash: TxHash::from_bytes(tx_hash.0),
            }),
        )
    }
}

fn account(address: Address) -> EvmAddress {
    EvmAddress::from_bytes(address.into())
}

fn micro_usdc(value: U256) -> MicroUsdc {
    let value = u64::try_from(value).unwrap_or(u64::MAX);
    MicroUsdc::from_micro_usdc(value).unwrap_or(MicroUsdc::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    const PAYEE: EvmAddress = EvmAddress::from_bytes([2; 20]);
    const PAYER: EvmAddress = EvmAddress::from_bytes([1; 20]);
    const OTHER: EvmAddress = EvmAddress::from_bytes([3; 20]);

    fn transfer(from: EvmAddress, to: EvmAddress, nonce: Option<&[u8]>) -> TokenTransfer {
        TokenTransfer {
            from,
            to,
            amount: MicroUsdc::from_micro_usdc(29_725).unwrap(),
            authorization_nonce: nonce.map(Digest::of),
        }
    }

    /// Transfers, whether the payer is bound, and words of the obstacle.
    #[test]
    fn rule_18_an_obstacle_says_what_arrived_and_why_it_does_not_count() {
        let table = [
            (vec![transfer(PAYER, PAYEE, None)], true, None),
            (vec![transfer(PAYER, PAYEE, Some(b"own"))], true, None),
            (vec![transfer(PAYER, PAYEE, Some(b"own"))], false, None),
            (
                vec![transfer(OTHER, PAYEE, None), transfer(PAYER, PAYEE, None)],
                true,
                None,
            ),
            (
                vec![transfer(PAYER, PAYEE, Some(b"x402"))],
                true,
                Some("x402"),
            ),
            (vec![transfer(PAYER, PAYEE, None)], false, Some("exchange")),
            (vec![transfer(OTHER, PAYEE, None)], true, Some("--payer")),
            (
                vec![transfer(OTHER, PAYEE, Some(b"own"))],
                true,
                Some("--payer"),
            ),
            (
                vec![transfer(PAYER, OTHER, None)],
                true,
                Some("moved no USDC to"),
            ),
            (Vec::new(), true, Some("moved no USDC to")),
        ];
        for (transfers, is_bound, words) in table {
            let declared = Declaration {
                payee: PAYEE,
                payer: PAYER,
                is_bound,
                nonce: Digest::of(b"own"),
            };
            let inspection = Inspection::Mined(Movements {
                transfers,
                other_tokens: Vec::new(),
            });
            let obstacle = inspection.obstacle(&declared);
            match (&obstacle, words) {
                (None, None) => {}
                (Some(text), Some(words)) => assert!(text.contains(words), "{text}"),
                (Some(_), None) | (None, Some(_)) => panic!("{inspection:?} {obstacle:?}"),
            }
        }
    }

    #[test]
    fn another_token_and_a_user_operation_are_called_that() {
        let declared = Declaration {
            payee: PAYEE,
            payer: PAYER,
            is_bound: true,
            nonce: Digest::of(b"own"),
        };
        let usdbc = Inspection::Mined(Movements {
            transfers: Vec::new(),
            other_tokens: vec![(OTHER, PAYEE)],
        });
        let text = usdbc.obstacle(&declared).unwrap();
        assert!(
            text.contains("USDbC") && text.contains(&OTHER.to_checksum()),
            "{text}"
        );
        let tx_hash = TxHash::from_bytes([9; 32]);
        let text = Inspection::UserOperation { tx_hash }
            .obstacle(&declared)
            .unwrap();
        assert!(text.contains(&tx_hash.to_string()), "{text}");
        for open in [Inspection::Unknown, Inspection::Waiting] {
            assert_eq!(open.obstacle(&declared), None);
        }
    }
}
