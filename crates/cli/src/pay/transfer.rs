//! The transfer behind a PAYMENT: kept from an earlier run, found on the chain, or made now.

use serde::Serialize;
use x811_client::http::LedgerInfo;
use x811_client::pay::{
    NonceUse, Outcome, PayClient, PayError, SignedTransfer, TokenDomain, Transfer,
};
use x811_client::transcript::Transcript;
use x811_client::wallet::WalletKey;
use x811_protocol::code::Code;
use x811_protocol::digest::Digest;
use x811_protocol::evm::{EvmAddress, TxHash};
use x811_protocol::interaction::StateName;
use x811_protocol::time::TimestampMs;

use crate::failure::Failure;
use crate::send::case::Case;
use crate::send::payment::is_bound;

/// Less time than this is too little to pay in: the money would be gone and the PAYMENT late.
const LEAST_TIME_MS: u64 = 3_000;

/// Who pays what.
pub(super) struct Payer<'a> {
    pub(super) case: &'a Case<'a>,
    pub(super) endpoint: PayClient,
    pub(super) due: Transfer,
    /// The nonce of the interaction's authorization.
    pub(super) nonce: Digest,
    pub(super) info: LedgerInfo,
    /// The network is Base or Base Sepolia.
    pub(super) is_on_base: bool,
    /// How long the block is waited for.
    pub(super) wait_ms: u64,
}

/// A transfer that was made.
pub(super) struct Made {
    pub(super) origin: Origin,
    pub(super) tx_hash: TxHash,
    pub(super) payer: EvmAddress,
    pub(super) block_number: Option<u64>,
    pub(super) authorization_nonce: Option<Digest>,
    /// Why it is a plain transfer, where that was not asked for.
    pub(super) plain_because: Option<String>,
}

/// Where a transfer comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Origin {
    /// Signed by this run.
    Signed,
    /// Signed by an earlier run and sent again.
    Kept,
    /// Signed by an earlier run, and now again with higher fees.
    Raised,
    /// Found on the chain: the nonce was used already.
    Found,
}

impl Payer<'_> {
    /// Makes sure that there is one transfer, and only one.
    pub(super) async fn pay(&self, plain_transfer: bool) -> Result<Made, Failure> {
        check_open(&self.case.transcript)?;
        if let Some(signed) = self.kept()? {
            return self.resume(signed, plain_transfer).await;
        }
        if let Some(made) = self.found_undeclared().await? {
            return Ok(made);
        }
        check_payable(&self.case.transcript, self.case.context.now())?;
        let key = self.wallet_key()?;
        if plain_transfer {
            return self.pay_plainly(key, None).await;
        }
        let domain = match self.endpoint.token_domain().await {
            Ok(domain) => domain,
            // USDC on Base has them, whatever an endpoint answers at the moment.
            Err(error @ PayError::NoAuthorizations { .. }) if !self.is_on_base => {
                return self.pay_plainly(key, Some(error.to_string())).await;
            }
            Err(error) => return Err(error.into()),
        };
        self.pay_authorized(key, &domain).await
    }

    /// Takes up the transfer of an earlier run: what it paid is declared, else it is sent again, with
    /// higher fees where the network asks for more. A transfer that can never pay is signed anew under
    /// the same nonce; the token takes one transfer for each nonce.
    async fn resume(&self, kept: SignedTransfer, plain_transfer: bool) -> Result<Made, Failure> {
        if plain_transfer && kept.authorization.is_some() {
            let message = "a transfer under an authorization is kept for this interaction";
            let hint = format!(
                "run this without --plain-transfer, or see on Base that it did not pay and delete {}",
                self.kept_at()
            );
            return Err(Failure::local("kept_transfer", message).hint(hint));
        }
        match self.endpoint.outcome(&kept).await? {
            Outcome::Paid {
                tx_hash,
                block_number,
            } => return Ok(Made::paid(&kept, Origin::Kept, tx_hash, block_number)),
            Outcome::Lost if kept.authorization.is_some() => return self.sign_anew(&kept).await,
            Outcome::Lost => return Err(self.moved_nothing(&kept)),
            Outcome::Open => {}
        }
        // Whatever keeps the fees from being raised, the kept transfer is sent and declared.
        let raised = match self.case.identity.wallet_key.as_ref() {
            Some(key) => self.endpoint.raise_fees(key, &kept).await.unwrap_or(None),
            None => None,
        };
        match raised {
            Some(raised) => self.replace_and_send(&raised, Origin::Raised).await,
            None => self.send(&kept, Origin::Kept, None).await,
        }
    }

    /// Signs a transfer in place of one that reverted or came too late.
    async fn sign_anew(&self, kept: &SignedTransfer) -> Result<Made, Failure> {
        let key = self.wallet_key()?;
        if key.address() != kept.payer {
            let message = format!(
                "the kept transfer is from {}, which is not the agent's wallet any more",
                kept.payer.to_checksum()
            );
            let hint = format!(
                "see on Base that it did not pay, then delete {}",
                self.kept_at()
            );
            return Err(Failure::local("other_wallet", message).hint(hint));
        }
        if !self.case.transcript.has_payment() {
            check_payable(&self.case.transcript, self.case.context.now())?;
        }
        let domain = self.endpoint.token_domain().await?;
        let now = self.case.context.now();
        let signed = self
            .endpoint
            .sign_authorized(key, self.due, &domain, self.nonce, now);
        self.replace_and_send(&signed.await?, Origin::Signed).await
    }

    async fn replace_and_send(
        &self,
        signed: &SignedTransfer,
        origin: Origin,
    ) -> Result<Made, Failure> {
        let home = &self.case.context.home;
        home.replace_transfer(self.case.transcript.id(), &file(signed)?)?;
        self.send(signed, origin, None).await
    }

    /// The declared transfer as it is in a block within that time; `None` when it is in none yet, or the
    /// endpoint does not say.
    pub(super) async fn follow(&self, limit_ms: u64) -> Result<Option<Made>, Failure> {
        let Some(signed) = self.kept()? else {
            return Ok(None);
        };
        let clock = &*self.case.context.clock;
        let _ = self.endpoint.await_mined(&signed, clock, limit_ms).await;
        match self.endpoint.outcome(&signed).await {
            Ok(Outcome::Paid {
                tx_hash,
                block_number,
            }) => Ok(Some(Made::paid(
                &signed,
                Origin::Kept,
                tx_hash,
                block_number,
            ))),
            Ok(Outcome::Lost) => {
                let hint = format!("run `x811 pay {}` again", self.case.transcript.id());
                Err(self.moved_nothing(&signed).hint(hint))
            }
            Ok(Outcome::Open) | Err(_) => Ok(None),
        }
    }

    /// A transfer under the interaction's nonce that no PAYMENT names, where there is one.
    async fn found_undeclared(&self) -> Result<Option<Made>, Failure> {
        let transcript = &self.case.transcript;
        let key = self.case.identity.wallet_key.as_ref();
        let Some(key) = key.filter(|_| transcript.has_payment()) else {
            return Ok(None);
        };
        let found = self.found(key.address()).await?;
        let is_declared = |made: &Made| transcript.declared().any(|it| it == made.tx_hash);
        Ok(found.filter(|made| !is_declared(made)))
    }

    /// Makes a plain transfer, which counts from a bound wallet alone.
    async fn pay_plainly(&self, key: &WalletKey, why: Option<String>) -> Result<Made, Failure> {
        let wallet = key.address();
        if !is_bound(self.case, &self.info, wallet).await? {
            let message = format!(
                "nothing was paid: {} is no wallet bound to this agent, so a plain transfer from it does \
                 not count",
                wallet.to_checksum()
            );
            return Err(Failure::refused(Code::InvalidPaymentAddress, message)
                .hint("bind it with `x811 agent update`, or pay without --plain-transfer"));
        }
        // The token does not compare plain transfers with authorized ones.
        match self.endpoint.nonce_use(wallet, self.nonce).await {
            Ok(NonceUse::Unused)
            | Err(PayError::NoAuthorizations { .. } | PayError::Cancelled { .. }) => {}
            Ok(NonceUse::Used {
                tx_hash,
                block_number,
            }) => return Ok(Made::found(wallet, self.nonce, tx_hash, block_number)),
            Err(error) => return Err(error.into()),
        }
        let signed = self.endpoint.sign(key, self.due).await?;
        self.keep_and_send(&signed, why).await
    }

    async fn pay_authorized(&self, key: &WalletKey, domain: &TokenDomain) -> Result<Made, Failure> {
        if let Some(made) = self.found(key.address()).await? {
            return Ok(made);
        }
        let now = self.case.context.now();
        let signed = self
            .endpoint
            .sign_authorized(key, self.due, domain, self.nonce, now);
        self.keep_and_send(&signed.await?, None).await
    }

    /// The transfer that was made under the interaction's nonce, if there is one.
    async fn found(&self, payer: EvmAddress) -> Result<Option<Made>, Failure> {
        match self.endpoint.nonce_use(payer, self.nonce).await? {
            NonceUse::Unused => Ok(None),
            NonceUse::Used {
                tx_hash,
                block_number,
            } => Ok(Some(Made::found(payer, self.nonce, tx_hash, block_number))),
        }
    }

    async fn keep_and_send(
        &self,
        signed: &SignedTransfer,
        plain_because: Option<String>,
    ) -> Result<Made, Failure> {
        let home = &self.case.context.home;
        home.add_transfer(self.case.transcript.id(), &file(signed)?)?;
        self.send(signed, Origin::Signed, plain_because).await
    }

    /// Sends it. Whoever saw the authorization in it may have been quicker: then theirs pays.
    async fn send(
        &self,
        signed: &SignedTransfer,
        origin: Origin,
        plain_because: Option<String>,
    ) -> Result<Made, Failure> {
        if let Err(error) = self.endpoint.send(signed).await {
            let is_replaced = matches!(error, PayError::Replaced { .. });
            if is_replaced
                && let Outcome::Paid {
                    tx_hash,
                    block_number,
                } = self.endpoint.outcome(signed).await?
            {
                return Ok(Made::paid(signed, origin, tx_hash, block_number));
            }
            let hint = format!("the signed transfer is kept in {}", self.kept_at());
            return Err(Failure::from(error).hint(hint));
        }
        let clock = &*self.case.context.clock;
        let (endpoint, wait_ms) = (&self.endpoint, self.wait_ms);
        let _ = endpoint.await_mined(signed, clock, wait_ms).await?;
        let made = match endpoint.outcome(signed).await {
            Ok(Outcome::Paid {
                tx_hash,
                block_number,
            }) => Made::paid(signed, origin, tx_hash, block_number),
            Ok(Outcome::Lost) => return Err(self.moved_nothing(signed)),
            Ok(Outcome::Open) | Err(_) => Made::sent(signed, origin),
        };
        Ok(Made {
            plain_because,
            ..made
        })
    }

    /// The transfer signed for this interaction before, if there is one.
    fn kept(&self) -> Result<Option<SignedTransfer>, Failure> {
        let home = &self.case.context.home;
        let Some(bytes) = home.transfer(self.case.transcript.id())? else {
            return Ok(None);
        };
        let unusable = |cause: &str| {
            Failure::local("damaged_transfer", format!("{}: {cause}", self.kept_at()))
                .hint("see on Base whether it paid, then delete the file")
        };
        let kept: SignedTransfer =
            serde_json::from_slice(&bytes).map_err(|_| unusable("it is no transfer"))?;
        let is_of_nonce = kept.authorization.is_none_or(|it| it.nonce == self.nonce);
        if kept.transfer == self.due && self.endpoint.serves(&kept) && is_of_nonce {
            Ok(Some(kept))
        } else {
            Err(unusable("it pays something else, or on another network"))
        }
    }

    fn kept_at(&self) -> String {
        let id = self.case.transcript.id();
        let path = self.case.context.home.transfer_path(id);
        path.display().to_string()
    }

    fn moved_nothing(&self, signed: &SignedTransfer) -> Failure {
        let (tx_hash, payee) = (signed.tx_hash, signed.transfer.payee.to_checksum());
        let message = format!("{tx_hash} moved nothing to {payee} and never will");
        // An authorized one is signed anew by the next run.
        let hint = match signed.authorization {
            Some(_) => "run this again: another transfer is signed under the same nonce".to_owned(),
            None => format!("delete {}, then run this again", self.kept_at()),
        };
        Failure::refused(Code::PaymentFailed, message).hint(hint)
    }

    fn wallet_key(&self) -> Result<&WalletKey, Failure> {
        self.case.identity.wallet_key.as_ref().ok_or_else(|| {
            Failure::local("no_wallet", "the agent has no wallet key")
                .hint("pay by other means, then run `x811 send payment INTERACTION --tx HASH --payer ADDRESS`")
        })
    }
}

impl Made {
    /// A transfer that is in a block, by its own transaction or another account's.
    fn paid(signed: &SignedTransfer, own: Origin, tx_hash: TxHash, block_number: u64) -> Made {
        let is_own = signed.tx_hash == tx_hash || signed.replaced.contains(&tx_hash);
        Made {
            tx_hash,
            block_number: Some(block_number),
            ..Made::sent(signed, if is_own { own } else { Origin::Found })
        }
    }

    /// A transfer that the token's log names.
    fn found(payer: EvmAddress, nonce: Digest, tx_hash: TxHash, block_number: u64) -> Made {
        Made {
            origin: Origin::Found,
            tx_hash,
            payer,
            block_number: Some(block_number),
            authorization_nonce: Some(nonce),
            plain_because: None,
        }
    }

    /// A transfer that was sent and is in no block yet.
    fn sent(signed: &SignedTransfer, origin: Origin) -> Made {
        Made {
            origin,
            tx_hash: signed.tx_hash,
            payer: signed.payer,
            block_number: None,
            authorization_nonce: signed.authorization.map(|it| it.nonce),
            plain_because: None,
        }
    }
}

fn file(signed: &SignedTransfer) -> Result<Vec<u8>, Failure> {
    serde_json::to_vec_pretty(signed).map_err(|error| Failure::internal(&error.to_string()))
}

/// Whether the interaction goes on. What was signed before is not sent again either: nobody would
/// count it.
fn check_open(transcript: &Transcript) -> Result<(), Failure> {
    let id = transcript.id();
    let (ended, command) = match transcript.view.state {
        StateName::Completed => ("is completed: it was paid before", "provider paid"),
        StateName::Disputed if transcript.has_payment() => (
            "is disputed: its payment was not confirmed in time",
            "provider paid",
        ),
        StateName::Disputed => ("is disputed", "history"),
        StateName::Expired => ("expired: a window passed before delivery", "history"),
        StateName::Rejected => ("ended when its OFFER was rejected", "history"),
        StateName::Failed => (
            "failed: the time for the VERIFY passed without one",
            "history",
        ),
        StateName::Pending
        | StateName::Offered
        | StateName::Accepted
        | StateName::Delivered
        | StateName::Verified => return Ok(()),
    };
    let message = format!("nothing was paid now: the interaction {ended}");
    let hint = format!("see how it ended: x811 {command} {id}");
    Err(Failure::state(message).hint(hint))
}

/// Whether paying now does any good.
fn check_payable(transcript: &Transcript, now: TimestampMs) -> Result<(), Failure> {
    let (state, id) = (transcript.view.state, transcript.id());
    if state != StateName::Verified {
        let message = format!("nothing was paid: the interaction is {state}, not verified");
        let hint = if state == StateName::Delivered {
            format!("say first that the result is good: x811 send verify {id}")
        } else {
            "wait for the RESULT: x811 inbox --wait 60".to_owned()
        };
        return Err(Failure::state(message).hint(hint));
    }
    if transcript.has_payment() {
        let message = "nothing was paid: a PAYMENT has been sent already";
        let hint = format!(
            "see what came of it: x811 provider paid {}",
            transcript.id()
        );
        return Err(Failure::state(message).hint(hint));
    }
    let deadline = transcript.view.deadline_at_ms;
    if deadline.is_some_and(|deadline| deadline.since(now) < LEAST_TIME_MS) {
        let message = "nothing was paid: the time for the PAYMENT is over";
        return Err(Failure::refused(Code::PaymentTimeout, message));
    }
    Ok(())
}
