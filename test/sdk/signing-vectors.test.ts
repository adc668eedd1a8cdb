import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { type TestContext, test } from 'node:test'
import { readPrivateKey } from '../../sdk/signing/private-key.ts'
import { ofBatch, ofRecord, ofStep, type Step, type Unsigned } from '../../sdk/signing/statements.ts'
import { fromHex, toHex, utf8Encode } from '../../src/proof/bytes.ts'
import { encodeEnvelope, encodeProtected, toBeSigned } from '../../src/proof/envelope/cose.ts'
import { keyThumbprint } from '../../src/proof/keys.ts'
import { buildStatement } from '../../src/proof/statement/statement.ts'
import { nativeProviders } from '../../src/signing/native.ts'

type Case = {
  readonly about: string
  // biome-ignore lint/suspicious/noExplicitAny: as each request has it
  readonly body: any
  readonly gated?: boolean
  readonly step?: Step
  // biome-ignore lint/suspicious/noExplicitAny: as the server shows it
  readonly record?: any
  readonly traceparent?: string
  readonly sent: unknown
  readonly statement: string
  readonly envelope: string
}

/** Vectors made by the Python package (python/tests/agent_statements.py). */
const vectors = JSON.parse(
  readFileSync(new URL('../vectors/agent-statements.json', import.meta.url), 'utf8'),
) as {
  readonly seed: string
  readonly nowMs: number
  readonly issuer: string
  readonly ledger: string
  readonly agent: string
  readonly key: string
  readonly typeDigest: string
  readonly cases: readonly Case[]
}
const { nowMs, issuer, ledger, agent, key, typeDigest } = vectors

for (const each of vectors.cases) {
  test(`the Python package signs the same bytes of ${each.about}`, async (t) => {
    drawKnown(t)
    const { kind, subjects, predicate, body } = unsignedOf(each)
    assert.deepEqual(JSON.parse(JSON.stringify(body)), each.sent)
    const recordedAt = new Date(nowMs).toISOString()
    const statement = buildStatement(kind, subjects, { ledger, actor: agent, key, recordedAt, ...predicate })
    assert.equal(statement, each.statement)
    const secret = await readPrivateKey({ seed: fromHex(vectors.seed) })
    const header = encodeProtected({
      alg: 'EdDSA',
      kid: keyThumbprint(nativeProviders.sha256, secret.key),
      issuer,
      subject: subjects[0]!.name,
      issuedAtSeconds: Math.floor(nowMs / 1000),
    })
    const payload = utf8Encode(statement)
    const envelope = encodeEnvelope(header, payload, await secret.sign(toBeSigned(header, payload)))
    assert.equal(toHex(envelope), each.envelope)
  })
}

function unsignedOf({ body, gated, step, record, traceparent }: Case): Unsigned {
  if (step !== undefined) return ofStep(step, record, body, { traceparent })
  if ('records' in body) return ofBatch(body, nowMs)
  return ofRecord(body, { gated: gated!, digest: typeDigest }, { nowMs, traceparent })
}

/** Replaces random bytes by those of the vectors: the first bytes of SHA-256 of 0, 1, 2 and so on. */
function drawKnown(t: TestContext): void {
  let count = 0
  t.mock.method(globalThis.crypto, 'getRandomValues', (into: Uint8Array) => {
    into.set(createHash('sha256').update(`${count++}`).digest().subarray(0, into.length))
    return into
  })
}
