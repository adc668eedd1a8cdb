/**
 * A change that breaks one important line. `from` is a text that occurs once in the file. `breaks` is the promise that
 * the change breaks.
 */
export type Mutation = {
  readonly file: string
  readonly from: string
  readonly to: string
  readonly breaks: string
}

/**
 * Mutations of fifty lines of the server, of its proofs and of its SQL. `npm run drill -- mutations` applies each
 * separately.
 */
export const MUTATIONS: readonly Mutation[] = [
  {
    file: 'src/proof/tree/merkle.ts',
    from: "if (last !== 0)\n    throw new ProofError('merkle_path', `the path has \u0024{path.length} hashes, too few for",
    to: "if (last < 0)\n    throw new ProofError('merkle_path', `the path has \u0024{path.length} hashes, too few for",
    breaks: 'an inclusion path that is too short is refused',
  },
  {
    file: 'src/proof/tree/merkle.ts',
    from: 'if (at % 2 === 1 || at === last) {\n      hash = nodeHash(sha256, sibling, hash)\n',
    to: 'if (at % 2 === 1) {\n      hash = nodeHash(sha256, sibling, hash)\n',
    breaks: 'the last node of a level has no sibling on its right (RFC 9162 §2.1.3.2)',
  },
  {
    file: 'src/proof/tree/merkle.ts',
    from: 'if (i < level.length) above.push(level[i]!)',
    to: 'if (i < level.length) above.push(nodeHash(sha256, level[i]!, level[i]!))',
    breaks: 'a last node without a sibling is copied to the next level unhashed (RFC 9162 §2.1)',
  },
  {
    file: 'src/proof/tree/chain.ts',
    from: 'scratch.set(leaf, 1 + HASH_BYTES)',
    to: 'scratch.set(previousChain, 1 + HASH_BYTES)',
    breaks: 'each chain hash covers its leaf and the previous chain hash',
  },
  {
    file: 'src/proof/tree/checkpoint.ts',
    from: 'if (parsed.checkpoint.origin !== origin) {',
    to: 'if (!parsed.checkpoint.origin) {',
    breaks: 'a checkpoint of another ledger is refused',
  },
  {
    file: 'src/proof/tree/checkpoint.ts',
    from: 'if (!verifySignature(key, message, signature))',
    to: 'if (!verifySignature(key, message, signature) && own.length > 1)',
    breaks: 'a checkpoint whose signature does not verify is refused',
  },
  {
    file: 'src/proof/tree/add-checkpoint.ts',
    from: 'if (oldSize !== seenSize) return { status: 409, size: seenSize }',
    to: '',
    breaks: 'a witness cosigns only growth of the tree that it has cosigned before',
  },
  {
    file: 'src/proof/tree/note.ts',
    from: 'if (!equalBytes(fromHex(keyId), noteKey.keyId))',
    to: 'if (keyId.length !== 8)',
    breaks: 'the id in a verifier key matches the key',
  },
  {
    file: 'src/proof/tree/cosignature.ts',
    from: 'if (!Number.isInteger(needed) || needed < 1 || needed > witnesses.length)',
    to: 'if (!Number.isInteger(needed) || needed > witnesses.length)',
    breaks: 'a witness policy asks for at least one cosignature',
  },
  {
    file: 'src/proof/ed25519-points.ts',
    from: 'if (isWeakEd25519Point(point))',
    to: 'if (point.length === 0)',
    breaks: 'keys of small order are refused',
  },
  {
    file: 'src/proof/ed25519-points.ts',
    from: 'if (signature.length !== SIGNATURE_BYTES) return false',
    to: 'if (signature.length !== SIGNATURE_BYTES) return true',
    breaks: 'a signature of the wrong length is refused',
  },
  {
    file: 'src/proof/envelope/sign1.ts',
    from: "if (!(value instanceof Tag18)) throw structure('no tag 18')",
    to: 'if (!(value instanceof Tag18)) return parseSign1(bytes, form)',
    breaks: 'an envelope without the COSE_Sign1 tag is refused',
  },
  {
    file: 'src/proof/json/jcs.ts',
    from: 'if (!isSorted(names)) names.sort()',
    to: 'if (names.length > 64) names.sort()',
    breaks: 'canonical JSON sorts member names (RFC 8785 §3.2.3)',
  },
  {
    file: 'src/proof/json/jcs.ts',
    from: "if (!text.isWellFormed()) throw new ProofError('json_surrogate', 'a string has a lone surrogate')",
    to: '',
    breaks: 'text with half of a surrogate pair has no canonical form',
  },
  {
    file: 'src/proof/entry/verify-entry.ts',
    from: 'if (root !== subjects[0].sha256)',
    to: 'if (root.length !== subjects[0].sha256.length)',
    breaks: 'items of a batch that differ from the signed root are refused',
  },
  {
    file: 'src/proof/entry/verify-entry.ts',
    from: 'if (digest !== signed.sha256) {',
    to: 'if (digest.length !== signed.sha256.length) {',
    breaks: 'a document that differs from its signed digest is refused',
  },
  {
    file: 'src/proof/entry/verify-entry.ts',
    from: 'if (document.subject !== signed.name) {',
    to: 'if (!document.subject) {',
    breaks: 'a document under another subject than the signed one is refused',
  },
  {
    file: 'src/proof/entry/verify-content.ts',
    from: 'if (envelope.issuedAtSeconds !== seconds) {',
    to: 'if (envelope.issuedAtSeconds > seconds) {',
    breaks: 'an envelope whose time differs from its statement is refused',
  },
  {
    file: 'src/proof/ledger/keys.ts',
    from: 'if (kid !== this.#current) {',
    to: 'if (!this.#kids.has(kid)) {',
    breaks: 'a replaced envelope key signs no later entry',
  },
  {
    file: 'src/proof/ledger/agent-keys.ts',
    from: "if (until !== null) throw new ProofError('key_not_valid'",
    to: "if (until === undefined) throw new ProofError('key_not_valid'",
    breaks: 'a revoked key of an agent signs nothing',
  },
  {
    file: 'src/proof/ledger/agent-keys.ts',
    from: 'if (!this.#providers.verifySignature(key, text, fromBase64(proof)))',
    to: 'if (proof.length === 0)',
    breaks: 'a signing key is registered only with a proof of possession',
  },
  {
    file: 'src/proof/ledger/erasures.ts',
    from: 'if (missing.seq !== seq || missing.subject !== subject || missing.sha256 !== sha256) {',
    to: 'if (missing.seq !== seq || missing.subject !== subject) {',
    breaks: 'an erasure must name the digest of the erased document',
  },
  {
    file: 'src/proof/ledger/peers.ts',
    from: "if (peering.state !== 'active') throw notActive(peering)",
    to: '',
    breaks: 'no record is shared through a peering that is not active',
  },
  {
    file: 'src/proof/ledger/offers.ts',
    from: "    if (offer === null)\n      throw new ProofError('offer_answered_twice'",
    to: "    if (offer === undefined)\n      throw new ProofError('offer_answered_twice'",
    breaks: 'a second answer to an offer is refused',
  },
  {
    file: 'src/append/commit.ts',
    from: "if (result.kind !== 'unavailable' || attempt > 0 || tookMs > APPEND_UNAVAILABLE_RETRY_MS_MAX)",
    to: 'if (attempt > 0 || tookMs > APPEND_UNAVAILABLE_RETRY_MS_MAX)',
    breaks: 'a commit with an unknown outcome is never sent again',
  },
  {
    file: 'src/append/commit.ts',
    from: "client.release(failure.kind === 'data' || failure.kind === 'deadlock' ? false : failure.error)",
    to: 'client.release(false)',
    breaks: 'a connection that failed is not used again',
  },
  {
    file: 'src/load/fair-queue.ts',
    from: 'if (queue.length > 0) this.#queues.set(owner, queue)',
    to: '',
    breaks: 'an entry that does not fit into a batch is appended with a later batch',
  },
  {
    file: 'src/append/appender.ts',
    from: 'if (this.#isEmpty()) this.#emptied?.resolve()',
    to: 'this.#emptied?.resolve()',
    breaks: 'a stopping server commits the entries that it has accepted',
  },
  {
    file: 'src/ledgers/api-keys.ts',
    from: 'if (!match || checksum(key.slice(0, -8)) !== match[3]) return null',
    to: 'if (!match) return null',
    breaks: 'a mistyped API key is refused without a database query',
  },
  {
    file: 'src/ledgers/caller.ts',
    from: 'if (this.#keyMac.isOf({ ...caller, scopes: row.scopes, secretHash }, row.mac)) return caller',
    to: 'if (row.mac) return caller',
    breaks: 'an API key that was inserted into the database directly is refused',
  },
  {
    file: 'src/ledgers/caller.ts',
    from: 'if (this.#now() - readAtMs >= KEY_CACHE_AGE_MS_MAX) throw tooLate()',
    to: '',
    breaks: 'an API key from the cache is refused when its row was read too long ago',
  },
  {
    file: 'src/ledgers/rate-limits.ts',
    from: 'if (allowed) for (const bucket of buckets) take(bucket, 1, nowMs)',
    to: '',
    breaks: 'a request counts against its limits',
  },
  {
    file: 'src/http/plugins/authenticate.ts',
    from: 'if (request.raw.proof!.owner === OPERATOR) return',
    to: 'if (request.raw.proof!.owner) return',
    breaks: 'routes of the operator refuse keys of ledgers',
  },
  {
    file: 'src/http/plugins/authenticate.ts',
    from: "request.ownRecordsOnly = requireScope(request.caller, access) === 'own'",
    to: 'request.ownRecordsOnly = requireScope(request.caller, access) === null',
    breaks: 'a key with only `:own` scopes reads no records of other agents',
  },
  {
    file: 'src/http/plugins/json-body.ts',
    from: 'if (peerSignature && !verifyContentDigest(peerSignature, body)) {',
    to: 'if (peerSignature && !body) {',
    breaks: 'a peer’s body that differs from its signed digest is refused',
  },
  {
    file: 'src/records/erase/erase.ts',
    from: 'if (held) throw held',
    to: '',
    breaks: 'a document under a legal hold is not erased',
  },
  {
    file: 'src/outside/connector/public-addresses.ts',
    from: 'if (isIn(address, NAT64)) return isPublicAddress(new ipaddr.IPv4(address.toByteArray().slice(12)))',
    to: 'if (isIn(address, NAT64)) return true',
    breaks: 'a private address behind NAT64 is not public',
  },
  {
    file: 'src/outside/connector/dial.ts',
    from: 'if (refusal !== null) socket.destroy(refusal)',
    to: '',
    breaks: 'no connection is made to a name that resolves to a private address',
  },
  {
    file: 'src/outside/connector/connector.ts',
    from: "const stale = error instanceof OutboundError && error.code === 'reset' && !exchange.hasAnswerBegun",
    to: "const stale = error instanceof OutboundError && error.code === 'reset'",
    breaks: 'a delivery is not repeated at once after its answer has begun',
  },
  {
    file: 'src/verify/archive/read-objects.ts',
    from: 'if (next && digest !== next.previous)',
    to: 'if (next && !digest)',
    breaks: 'a seal that does not match its successor’s digest is refused',
  },
  {
    file: 'src/verify/archive/seal.ts',
    from: "if (at !== size) throw refused(size, 'lacks a piece')",
    to: '',
    breaks: 'a seal names every piece up to its size',
  },
  {
    file: 'src/followers/checkpoints/publish.ts',
    from: 'if (contradiction && !contradiction.isAcknowledged) throw new ContradictionError(contradiction)',
    to: '',
    breaks: 'a ledger that contradicts its stored checkpoint gets no new checkpoint',
  },
  {
    file: 'src/followers/checkpoints/prove-entry.ts',
    from: 'if (!row || !isVisible(row, wanted.ownAgent)) return null',
    to: 'if (!row) return null',
    breaks: 'a key with only `:own` scopes gets no proofs of other agents’ records',
  },
  {
    file: 'migrations/functions/guards.sql',
    from: 'having bool_and(is_whole and seq = head_size + place - 1 and chain = chain_link(previous, leaf))',
    to: 'having bool_and(is_whole and seq = head_size + place - 1)',
    breaks: 'the database refuses an entry that does not continue the chain',
  },
  {
    file: 'migrations/functions/guards.sql',
    from: 'if old.size = 0 then return old; end if;  -- the ledger-created was refused, so the ledger has no entry',
    to: 'return old;',
    breaks: 'the head of a ledger with entries cannot be deleted',
  },
  {
    file: 'migrations/functions/erase-documents.sql',
    from: 'if changed <> cardinality(chunk_seqs) then',
    to: 'if changed < 0 then',
    breaks: 'an erasure is not lost when its chunk was changed at the same time',
  },
  {
    file: 'migrations/functions/retention.sql',
    from: 'where h.seq < at and (h.type is null or h.type = of_type)',
    to: 'where h.seq < at and (h.type = of_type)',
    breaks: 'a hold without a type protects every type',
  },
  {
    file: 'migrations/functions/retention.sql',
    from: 'if refused is not null then',
    to: 'if refused is null and false then',
    breaks: 'the database refuses to erase a document under a legal hold',
  },
  {
    file: 'migrations/functions/signing-keys.sql',
    from: 'x.kid = i.kid and x.agent_id = i.actor_id and x.revoked_seq is null offset 0',
    to: 'x.kid = i.kid and x.agent_id = i.actor_id offset 0',
    breaks: 'an entry signed by a revoked key of an agent is refused',
  },
  {
    file: 'migrations/functions/ledgers.sql',
    from: 'if not found or cardinality(secret_hashes) > 3 or expected is distinct from (',
    to: 'if not found or expected is distinct from (',
    breaks: 'an API key has at most three secrets',
  },
]
