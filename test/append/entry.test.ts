import assert from 'node:assert/strict'
import { test } from 'node:test'
import { type Author, type EntryClaims, sealEntry } from '../../src/append/entry.ts'
import { toHex, utf8Encode } from '../../src/proof/bytes.ts'
import { verifySignedStatement } from '../../src/proof/entry/verify-entry.ts'
import { canonicalize } from '../../src/proof/json/jcs.ts'
import type { JsonValue } from '../../src/proof/json/json-value.ts'
import { ENTRY_KINDS, type EntryKind } from '../../src/proof/statement/kinds.ts'
import { makeEntropy } from '../../src/signing/entropy.ts'
import { makeEd25519Signer, nativeProviders } from '../../src/signing/native.ts'
import { DEFINITION, ENVELOPE_KEY, HASH, SAMPLES, TIME } from '../proof/samples.ts'

const entropy = makeEntropy()
const signer = makeEd25519Signer(nativeProviders.sha256, new Uint8Array(32))
const atMs = Date.parse(TIME)
/** A signer that must not be called, because invalid entries must be refused before they are signed. */
const unused = { ...signer, sign: () => assert.fail('it was signed') }

type Members = Record<string, JsonValue>

/** Returns the input of a builder for the sample of this kind. Each kid in the input is the thumbprint of its key. */
function saidOf(kind: EntryKind) {
  const text = JSON.stringify(SAMPLES[kind].predicate)
  const predicate = JSON.parse(
    text.replaceAll(
      JSON.stringify(ENVELOPE_KEY),
      JSON.stringify({ ...ENVELOPE_KEY, kid: toHex(signer.kid) }),
    ),
  ) as Members
  const { ledger, actor, key, recordedAt: _, ...others } = predicate
  const [first, ...extraSubjects] = SAMPLES[kind].subjects.map((name) => ({ name, sha256: HASH }))
  const author = {
    ...{ ledgerId: entropy.uuidv7(1), ledger, issuer: DEFINITION.issuer, agent: actor },
    ...(key && { agentId: entropy.uuidv7(1), key, keyId: entropy.uuidv7(1), authenticatedAtMs: atMs }),
  } as Author
  const digest = definitionDigest(kind, first!.name, predicate) ?? HASH
  const said = {
    kind,
    subject: { id: null, name: first!.name, digest },
    extraSubjects,
    predicate: others,
  } as unknown
  return { author, said: said as EntryClaims }
}

/**
 * Returns the digest of the definition that the predicate contains (docs/formats/statements.md). Returns null if this
 * kind of entry contains no definition.
 */
function definitionDigest(kind: EntryKind, name: string, predicate: Members): string | null {
  const { agent, scopes, expiresAt, tokenHash, inviter, invited } = predicate
  const definition =
    kind === 'ledger-created'
      ? predicate['definition']
      : kind.startsWith('agent-') && !kind.startsWith('agent-key')
        ? { agent, name: predicate['name'] }
        : kind.startsWith('key-')
          ? { key: name, agent, scopes, expiresAt }
          : kind === 'peer-added'
            ? { peer: name, tokenHash, inviter, invited }
            : null
  if (!definition) return null
  return toHex(nativeProviders.sha256(utf8Encode(canonicalize(definition as JsonValue))))
}

for (const kind of Object.keys(ENTRY_KINDS) as EntryKind[]) {
  test(`a signed ${kind} verifies, and a malformed one is refused before signing`, () => {
    const { author, said } = saidOf(kind)
    const { entry } = sealEntry(signer, author, said, atMs)
    const { statement } = verifySignedStatement(entry.envelope, () => signer.key, nativeProviders)
    assert.equal(statement.kind, kind)

    const refused = (change: object, by: object = {}, at = atMs) =>
      assert.throws(
        () => sealEntry(unused, { ...author, ...by } as Author, { ...said, ...change } as EntryClaims, at),
        (error: Error) => error.constructor === Error && /^no verifier would accept this/.test(error.message),
        JSON.stringify(change),
      )
    for (const name of Object.keys(said.predicate)) {
      const wrong = [[{ none: 1 }], '', -1, 'x\ud800']
      for (const value of wrong) refused({ predicate: { ...said.predicate, [name]: value } })
    }
    refused({ predicate: { ...said.predicate, unknown: 1 } })
    refused({ subject: { ...said.subject, digest: 'ab' } })
    refused({ subject: { ...said.subject, name: `${said.subject.name} ` } })
    refused({ extraSubjects: [...(said.extraSubjects ?? []), { name: 'other', sha256: HASH }] })
    refused({}, { agent: 'agt_none' })
    refused({}, { ledger: 'led_none' })
    // Times that must be refused. The negative time is before 1970. The other is in the year 10000, which has five
    // digits.
    const times = 'key' in author ? [-1] : [-1, 253_402_300_800_000]
    for (const at of times) refused({}, 'key' in author ? { authenticatedAtMs: at } : {}, at)
  })
}

test('refuses to sign a wrong definition digest, another key’s kid, and an oversized envelope', () => {
  const { author, said } = saidOf('agent-registered')
  const refused = (by: Author, change: EntryClaims, message: RegExp) =>
    assert.throws(() => sealEntry(signer, by, change, atMs), message)
  refused(author, { ...said, subject: { ...said.subject, digest: HASH } }, /definition_mismatch/)
  const rotated = saidOf('server-key-rotated')
  const predicate = { newKey: ENVELOPE_KEY }
  refused(rotated.author, { ...rotated.said, predicate } as EntryClaims, /kid_mismatch/)
  const created = saidOf('record-created')
  const tolerances = Object.fromEntries(Array.from({ length: 4_000 }, (_, i) => [`field${i}`, i]))
  const large = { ...created.said.predicate, tolerances }
  refused(created.author, { ...created.said, predicate: large } as EntryClaims, /envelope_too_large/)
})
