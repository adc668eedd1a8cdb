/**
 * Reason why a proof failed, as a code that programs may rely on. Codes are added, never renamed. `detail` is for
 * people and may change.
 */
export type ProofErrorCode =
  // ids and encodings
  /** The text is not a canonical TypeID of the expected prefix. */
  | 'bad_id'
  /** The text is not lower-case hex of an even length. */
  | 'bad_hex'
  /** The text is not canonical base64 (RFC 4648 §4, padded). */
  | 'bad_base64'
  /** The text is not canonical base64url without padding (RFC 4648 §5). */
  | 'bad_base64url'
  /** The bytes are not UTF-8. */
  | 'bad_utf8'
  /** The bytes are not an Ed25519 or P-256 public key in the one accepted DER form, or the key must not be used. */
  | 'bad_key'
  // JSON text
  /** The text is not JSON (RFC 8259). */
  | 'json_syntax'
  /** An object names a member twice. */
  | 'json_duplicate_member'
  /** A string contains only one half of a surrogate pair. */
  | 'json_surrogate'
  /** A string contains U+0000. */
  | 'json_nul'
  /** A double would change the value of a number. */
  | 'json_number_lossy'
  /** The JSON text is nested deeper than the limit. */
  | 'json_depth'
  /** The JSON text has more names and values than the limit. */
  | 'json_too_costly'
  // envelopes
  /** The envelope has more than 32,768 bytes. */
  | 'envelope_too_large'
  /** The bytes are not well-formed CBOR, or more bytes follow the CBOR item. */
  | 'cbor_malformed'
  /** The CBOR is well-formed, but not in the one deterministic form (RFC 8949 §4.2.1). */
  | 'cbor_not_deterministic'
  /** The CBOR is not a COSE_Sign1 with tag 18 and an attached payload. */
  | 'cose_structure'
  /** The unprotected header is not empty. */
  | 'cose_unprotected'
  /** The protected header has `crit` (label 2). */
  | 'cose_crit'
  /** The protected header lacks a member, or has an unknown member or a member of a wrong type. */
  | 'cose_header'
  /** The algorithm is unknown. */
  | 'cose_algorithm'
  /** The content type is not application/vnd.in-toto+json. */
  | 'cose_content_type'
  /** The algorithm is known, but it is not the key's algorithm. */
  | 'algorithm_mismatch'
  /** An envelope's kid does not belong to the key, or a note's name and key id do not. */
  | 'kid_mismatch'
  /** The signature does not verify under the key. */
  | 'signature_invalid'
  // statements
  /** The payload is not an in-toto v1 statement with exactly its four members. */
  | 'statement_structure'
  /** This version does not know the predicate type. */
  | 'statement_predicate_type'
  /** The subjects are not those that the kind requires. */
  | 'statement_subject'
  /** A member of the predicate is missing or unknown, or has a wrong format. */
  | 'statement_predicate'
  // registered statements (RFC 9943)
  /** A Signed Statement has the form of an entry's envelope. */
  | 'statement_is_entry'
  /** The ledger's registration policy accepts no statement of this issuer, or of this content type. */
  | 'policy_refused'
  /** A registered statement and its registering entry are not adjacent, or contradict each other. */
  | 'statement_pair'
  // trees and batches
  /** An index is outside of the tree, or no tree has the size. */
  | 'merkle_range'
  /** A path has the wrong length or leads to another root. */
  | 'merkle_path'
  /** An item of a batch has a missing, unknown or ill-formed member. */
  | 'batch_item'
  /** The stored records of a batch do not decompress, or their number differs from the stated number. */
  | 'chunk_syntax'
  // checkpoints
  /** The text is not a C2SP signed note. */
  | 'note_syntax'
  /** The text of a signed note is not a checkpoint of a ledger. */
  | 'checkpoint_syntax'
  /** The text is not a C2SP verifier key of an Ed25519 key, or its key id is wrong. */
  | 'verifier_key'
  /** The note has no signature by the verifier key. */
  | 'note_unsigned'
  /** Fewer witnesses cosigned than are required, or the policy requires more witnesses than it names. */
  | 'witnesses_too_few'
  // one entry of a ledger
  /** A line of an export does not match docs/formats/export.md. */
  | 'line_syntax'
  /** The line's kind, time or leaf contradicts its envelope. */
  | 'line_contradicts_envelope'
  /** The envelope's claims contradict its statement. */
  | 'claims_contradict_statement'
  /** A document, together with its salt, does not have the signed digest. */
  | 'document_digest'
  /** A document is missing, or is present although no digest of a document was signed. */
  | 'document_presence'
  /** The items of a batch do not have the signed root or the signed number. */
  | 'batch_contradicts_statement'
  // proofs
  /** The text is not a proof or consistency proof as docs/formats/proofs.md describes them. */
  | 'proof_syntax'
  /** Members of a proof contradict each other or the signed entry. */
  | 'proof_contradicts_entry'
  /** A stored checkpoint has another size than the proof, and no consistency proof joins the two trees. */
  | 'consistency_missing'
  /** The bytes are neither a receipt nor a statement with a receipt as docs/formats/receipts.md describes them. */
  | 'receipt_syntax'
  /** A record from a server is not the record that the proof is about. */
  | 'record_contradicts_proof'
  // bundles
  /** A line of a bundle does not match docs/formats/bundles.md. */
  | 'bundle_syntax'
  /** The bundle lacks its last line, or entries that it promises. */
  | 'bundle_incomplete'
  /** An entry does not belong in the bundle. */
  | 'entry_unrelated'
  /** A record of a run has a parent that is not in the run. */
  | 'parent_absent'
  /** A checkpoint is too small to cover an entry. */
  | 'checkpoint_too_old'
  // an entry that receives an entry of another ledger
  /**
   * The received envelope is missing, contradicts the receiving entry, or is attached to an entry that receives
   * nothing.
   */
  | 'received_mismatch'
  /** A step differs from the offer from which it was made. */
  | 'offer_mismatch'
  /** The entry shares nothing with this peer. */
  | 'not_shared'
  // a ledger as a whole
  /** A seq is missing, duplicated or out of order. */
  | 'seq_not_dense'
  /** The chain hash does not follow from the previous chain hash. */
  | 'chain_broken'
  /** The same envelope occurs twice in one chain. */
  | 'duplicate_envelope'
  /** An id or key was used before. */
  | 'duplicate_subject'
  /** The first entry is not `ledger-created`, or a later entry is `ledger-created`. */
  | 'ledger_created_misplaced'
  /** The entry belongs to another ledger. */
  | 'ledger_foreign'
  /** The definition of a ledger, a type or an agent differs from the signed definition. */
  | 'definition_mismatch'
  /** A key signs outside the range of entries in which it is valid, or no entry introduces the key. */
  | 'key_not_current'
  /** The caller did not provide this key. */
  | 'key_unknown'
  /** A compromised key signed entries that no outside checkpoint covers. */
  | 'key_compromised'
  /** A key that the caller trusts is not a key of this ledger or agent. */
  | 'trusted_key_absent'
  /** No earlier entry registers the agent. */
  | 'agent_not_registered'
  /** An earlier entry disabled the agent. */
  | 'agent_disabled'
  /** No earlier entry creates the API key. */
  | 'key_not_created'
  /** The API key was revoked or had expired. */
  | 'key_not_valid'
  /** The API key belongs to another agent. */
  | 'key_of_another_agent'
  /** An agent's key lacks a required signature, or exceeds the limit of keys. */
  | 'agent_key_refused'
  /** The server signed for an agent whose entries the agent itself must sign. */
  | 'agent_signature_missing'
  /** The actor may not make this entry. */
  | 'actor_not_entitled'
  /** No earlier entry introduces the subject, or an earlier entry introduces it with another digest. */
  | 'subject_unknown'
  /** No earlier entry registers the type, or an earlier entry registers it with another digest. */
  | 'type_unknown'
  /** `previous` is not the leaf of the record's last event. */
  | 'previous_mismatch'
  /** `version` is not the record's next version. */
  | 'version_mismatch'
  /** The record's state does not allow this step. */
  | 'transition_refused'
  /** A document is missing, and no entry erased it. */
  | 'erasure_unexplained'
  /** A document was erased although a hold covered it. */
  | 'erasure_held'
  /** An erasure names a document that the named entry does not digest. */
  | 'erasure_of_nothing'
  /** No earlier entry introduces the peering, or the peering has another handshake. */
  | 'peer_unknown'
  /** The peering is not active yet, or was suspended or revoked. */
  | 'peer_not_active'
  /** The two sides contradict each other about their peering. */
  | 'handshake_mismatch'
  /** The same entry of another ledger was received twice. */
  | 'received_twice'
  /** Another ledger changes a record whose home is this ledger. */
  | 'not_home'
  /** The offer was already accepted or refused. */
  | 'offer_answered_twice'
  /** The time of a step contradicts the record's deadline by more than clocks may differ. */
  | 'time_out_of_order'
  /** A checkpoint or receipt has a size that is larger than the chain. */
  | 'checkpoint_beyond_chain'
  /** A checkpoint has a root or chain hash that the ledger does not have at this size. */
  | 'checkpoint_mismatch'
  /** The ledger has another entry, or another tree, at the receipt's position. */
  | 'receipt_mismatch'
  /**
   * Entries behind the last checkpoint are no longer new. No checkpoint covers them, so anybody could have removed some
   * of them.
   */
  | 'checkpoint_missing_tail'
  /** A checkpoint belongs to another ledger. */
  | 'checkpoint_foreign'
  /** The ledger's tables contradict its entries. */
  | 'columns_contradict_entries'
  /** An export lacks its first or last line. */
  | 'export_incomplete'
  /** An object of an archive is missing or does not match docs/formats/archive.md. */
  | 'archive_object'

/** Error for a failed proof. Every `parse…` and `verify…` function of src/proof throws it. */
export class ProofError extends Error {
  readonly code: ProofErrorCode
  /** The finding for people, without the code. It may quote the input, so escape this text before display. */
  readonly detail: string

  constructor(code: ProofErrorCode, detail: string) {
    super(`${code}: ${detail}`)
    this.name = 'ProofError'
    this.code = code
    this.detail = detail
  }
}
