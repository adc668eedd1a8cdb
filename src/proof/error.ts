/**
 * Why something does not hold, as a code that programs may rely on. The set is closed: a code is added, never
 * renamed. `detail` is for people and may change.
 */
export type ProofErrorCode =
  // ids and encodings
  /** Not a canonical TypeID of the expected prefix. */
  | 'bad_id'
  /** Not lower-case hex of an even length. */
  | 'bad_hex'
  /** Not canonical base64 (RFC 4648 §4, padded). */
  | 'bad_base64'
  /** Not canonical base64url without padding (RFC 4648 §5). */
  | 'bad_base64url'
  /** Bytes that are not UTF-8. */
  | 'bad_utf8'
  /** Not an Ed25519 or P-256 public key in the one DER form that is taken, or a key that must not be used. */
  | 'bad_key'
  // JSON text
  /** Not JSON (RFC 8259). */
  | 'json_syntax'
  /** An object names a member twice. */
  | 'json_duplicate_member'
  /** A string holds half of a surrogate pair. */
  | 'json_surrogate'
  /** A string holds U+0000. */
  | 'json_nul'
  /** A number that a double would change. */
  | 'json_number_lossy'
  /** Nested deeper than allowed. */
  | 'json_depth'
  /** More names and values than allowed. */
  | 'json_too_costly'
  // envelopes
  /** Longer than 32,768 bytes. */
  | 'envelope_too_large'
  /** Not well-formed CBOR, or bytes after its end. */
  | 'cbor_malformed'
  /** Well-formed CBOR, but not in the one deterministic form (RFC 8949 §4.2.1). */
  | 'cbor_not_deterministic'
  /** CBOR, but not a COSE_Sign1 under tag 18 with an attached payload. */
  | 'cose_structure'
  /** The unprotected header holds something. */
  | 'cose_unprotected'
  /** The protected header has `crit` (label 2). */
  | 'cose_crit'
  /** The protected header lacks a member, has an unknown one, or one of a wrong type. */
  | 'cose_header'
  /** An algorithm that is not known. */
  | 'cose_algorithm'
  /** A content type that is not application/vnd.in-toto+json. */
  | 'cose_content_type'
  /** A known algorithm, but not the key's. */
  | 'algorithm_mismatch'
  /** The kid of an envelope, or the name and key id of a note, are not the key's. */
  | 'kid_mismatch'
  /** The signature does not verify under the key. */
  | 'signature_invalid'
  // statements
  /** Not an in-toto v1 statement with exactly its four members. */
  | 'statement_structure'
  /** A predicate type that this version does not know. */
  | 'statement_predicate_type'
  /** Subjects that are not those of the kind. */
  | 'statement_subject'
  /** A member of the predicate is missing, unknown, or not of its format. */
  | 'statement_predicate'
  // registered statements
  /** A Signed Statement in the form of an entry's envelope. */
  | 'statement_is_entry'
  /** The ledger's registration policy does not take a statement of this issuer, or of this content type. */
  | 'policy_refused'
  /** A registered statement and the entry that registers it do not stand side by side, or contradict each other. */
  | 'statement_pair'
  // trees and batches
  /** An index outside the tree, or a size that no tree has. */
  | 'merkle_range'
  /** A path of the wrong length, or that leads to another root. */
  | 'merkle_path'
  /** An item of a batch with a missing, unknown or ill-formed member. */
  | 'batch_item'
  /** Stored records of a batch that do not decompress, or are not exactly as many as said. */
  | 'chunk_syntax'
  // checkpoints
  /** Not a C2SP signed note. */
  | 'note_syntax'
  /** A signed note whose text is not a checkpoint of a ledger. */
  | 'checkpoint_syntax'
  /** Not a C2SP verifier key of an Ed25519 key, or its hash is wrong. */
  | 'verifier_key'
  /** No signature of the note is by the verifier key. */
  | 'note_unsigned'
  /** Fewer witnesses cosigned than were asked for, or more are asked for than are named. */
  | 'witnesses_too_few'
  // one entry of a ledger
  /** A line of an export that is not as docs/formats/export.md has it. */
  | 'line_syntax'
  /** The line's kind, time or leaf is not what its envelope says. */
  | 'line_contradicts_envelope'
  /** The envelope's claims are not what its statement says. */
  | 'claims_contradict_statement'
  /** A document, with its salt, does not have the digest that was signed. */
  | 'document_digest'
  /** A document is missing, or stands where none was signed. */
  | 'document_presence'
  /** The items of a batch do not have the root or the number that was signed. */
  | 'batch_contradicts_statement'
  // proofs
  /** Not a proof or a consistency proof as docs/formats/proofs.md has it. */
  | 'proof_syntax'
  /** Members of a proof contradict each other, or what was signed. */
  | 'proof_contradicts_entry'
  /** A checkpoint that was kept is of another size than the proof's, and no consistency proof joins the two. */
  | 'consistency_missing'
  /** Not a receipt, or not a statement with one, as docs/formats/receipts.md has it. */
  | 'receipt_syntax'
  /** A record, as a server shows it, is not the one that the proof is of. */
  | 'record_contradicts_proof'
  // bundles
  /** A line of a bundle that is not as docs/formats/bundles.md has it. */
  | 'bundle_syntax'
  /** A bundle without its last line, or without entries that it says it holds. */
  | 'bundle_incomplete'
  /** An entry of a bundle that does not belong to what the bundle is of. */
  | 'entry_unrelated'
  /** A record of a run whose parent is not in it. */
  | 'parent_absent'
  /** A checkpoint that does not cover an entry. */
  | 'checkpoint_too_old'
  // an entry that received another ledger's
  /** The received envelope is missing, stands where none belongs, or is not what the entry says of it. */
  | 'received_mismatch'
  /** A step is not the one that was offered. */
  | 'offer_mismatch'
  /** It shares nothing with this peer. */
  | 'not_shared'
  // a ledger as a whole
  /** A seq is missing, doubled or out of order. */
  | 'seq_not_dense'
  /** The chain hash is not the one that follows from what went before. */
  | 'chain_broken'
  /** The same envelope twice in one chain. */
  | 'duplicate_envelope'
  /** An id that was used before. */
  | 'duplicate_subject'
  /** The first entry is not `ledger-created`, or a later one is. */
  | 'ledger_created_misplaced'
  /** An entry of another ledger. */
  | 'ledger_foreign'
  /** The definition of the ledger is not what its entry signs. */
  | 'definition_mismatch'
  /** A key outside the stretch of the chain that is its own. */
  | 'key_not_current'
  /** A key whose bytes nobody gave. */
  | 'key_unknown'
  /** A compromised key signed entries that no checkpoint from outside covers. */
  | 'key_compromised'
  /** The key that was given to be trusted signs nothing here. */
  | 'trusted_key_absent'
  /** An agent that was not registered before. */
  | 'agent_not_registered'
  /** An agent that was disabled before. */
  | 'agent_disabled'
  /** An API key that was not created before. */
  | 'key_not_created'
  /** An API key that was revoked or had expired. */
  | 'key_not_valid'
  /** An API key that belongs to another agent. */
  | 'key_of_another_agent'
  /** A key of an agent that comes without the signatures that it needs, or is one too many. */
  | 'agent_key_refused'
  /** The server signed in the name of an agent that signs for itself. */
  | 'agent_signature_missing'
  /** An actor that may not do this. */
  | 'actor_not_entitled'
  /** A subject that no earlier entry made. */
  | 'subject_unknown'
  /** A type that was not registered before, or with another digest. */
  | 'type_unknown'
  /** `previous` is not the record's last leaf. */
  | 'previous_mismatch'
  /** `version` is not the record's next one. */
  | 'version_mismatch'
  /** The record's state does not allow this event. */
  | 'transition_refused'
  /** A document is gone and no entry says so. */
  | 'erasure_unexplained'
  /** A document was erased while a hold was on it. */
  | 'erasure_held'
  /** An erasure of something that the named entry does not digest. */
  | 'erasure_of_nothing'
  /** A peering that no earlier entry made, or with another handshake. */
  | 'peer_unknown'
  /** A peering that was suspended or revoked before, or has not begun. */
  | 'peer_not_active'
  /** Both sides do not say the same of their peering. */
  | 'handshake_mismatch'
  /** The same entry of another ledger twice. */
  | 'received_twice'
  /** Another ledger moves a record whose home is this one. */
  | 'not_home'
  /** An offer was taken or refused before. */
  | 'offer_answered_twice'
  /** Time runs backwards by more than clocks may differ. */
  | 'time_out_of_order'
  /** A checkpoint or a receipt names a size that the chain has not reached. */
  | 'checkpoint_beyond_chain'
  /** A checkpoint of the right size has another root or chain hash. */
  | 'checkpoint_mismatch'
  /** A receipt is of an entry, or of a tree, that the ledger does not have there. */
  | 'receipt_mismatch'
  /** Entries that are no longer new stand behind the last checkpoint, where anybody could have thinned them. */
  | 'checkpoint_missing_tail'
  /** A checkpoint of another ledger. */
  | 'checkpoint_foreign'
  /** The ledger's tables contradict its entries. */
  | 'columns_contradict_entries'
  /** An export without its first or last line. */
  | 'export_incomplete'
  /** An object of an archive is missing, or not as docs/formats/archive.md has it. */
  | 'archive_object'

/** Something that should have been proved was not. Thrown by every `parse…` and `verify…` of this directory. */
export class ProofError extends Error {
  readonly code: ProofErrorCode
  /** Finding, for people. Without the code; may quote the input, so escape it where it is shown. */
  readonly detail: string

  constructor(code: ProofErrorCode, detail: string) {
    super(`${code}: ${detail}`)
    this.name = 'ProofError'
    this.code = code
    this.detail = detail
  }
}
