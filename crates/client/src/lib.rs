//! What an agent links: signing, sending, reading, paying.
