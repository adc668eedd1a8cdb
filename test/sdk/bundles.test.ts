import assert from 'node:assert/strict'
import { test } from 'node:test'
import { TallystickError, UsageError } from '../../sdk/errors.ts'
import type { Agents } from '../../sdk/resources/agents.ts'
import { Bundles, RUN_RECORDS_MAX } from '../../sdk/resources/bundles.ts'
import type { Entries } from '../../sdk/resources/entries.ts'
import type { Records } from '../../sdk/resources/records.ts'
import type { Statements } from '../../sdk/resources/statements.ts'
import type { AnyTypes } from '../../sdk/typed.ts'
import * as verify from '../../sdk/verify/index.ts'
import { toBase64 } from '../../src/proof/bytes.ts'
import { makeChain, makeSigner, type TestLine } from '../helpers/test-chain.ts'
import { proofOf, recordOf } from '../helpers/test-proof.ts'

const chain = makeChain()
const line = chain.notarize()
const record = { ...recordOf(chain, line), erasure: null, gated: null }

/** Makes bundles of a server with the given answers. By default the server answers truthfully about the chain. */
function bundlesOf(
  records: object = {},
  entries: object = {},
  agents: object = {},
  statements: object = {},
): Bundles {
  const answers = {
    get: async () => record,
    async *list() {},
    ...records,
  }
  const chainAnswers = {
    proof: async (seq: number) => proofOf(chain, chain.lines[seq]!),
    async *stream({ after, limit }: { after: number; limit: number }) {
      yield* chain.lines.slice(after + 1, after + 1 + limit)
    },
    ...entries,
  }
  return new Bundles(
    answers as unknown as Records<AnyTypes>,
    chainAnswers as unknown as Entries,
    agents as Agents,
    statements as Statements,
  )
}

const read = (lines: AsyncIterable<string>) => Array.fromAsync(lines)

test('a bundle of a record consists of the lines from the server’s answers', async () => {
  const lines = await read(bundlesOf().record(record.id))
  assert.deepEqual(
    lines.map((text) => JSON.parse(text).seq),
    [undefined, 0, 3, undefined],
  )
  assert.ok(lines.every((text) => text.endsWith('\n')))
})

test('key rotations are found between agent-signed entries, whose proofs name older keys', async () => {
  for (const pattern of ['ARAAASA', 'SRAAAAAA', 'RSRSAAAA', 'AAAARAAAASRSA', 'SSSRAARSAAAAAAAAS', 'AAAA']) {
    const chain = makeChain()
    const own = makeSigner()
    const registration = chain.registerSigningKey(own)
    const serverKeys = chain.lines.map(() => 0)
    let rotations = 0
    for (const who of pattern) {
      if (who === 'A') chain.notarize({}, undefined, undefined, own)
      else if (who === 'S') chain.notarize()
      else chain.rotateServerKey()
      // The proof of an agent's entry shows the server key that signed the registration of the agent's key. Here this
      // is the first server key.
      serverKeys.push(who === 'A' ? 0 : rotations)
      if (who === 'R') rotations++
    }
    const proof = async (seq: number) => ({
      ...proofOf(chain, chain.lines[seq]!),
      keys: [chain.keys()[serverKeys[seq]!]],
    })
    const entries = {
      proof,
      async *stream({ after, limit }: { after: number; limit: number }) {
        yield* chain.lines.slice(after + 1, after + 1 + limit)
      },
    }
    async function* listSigningKeys() {
      const { kidHex: kid, key } = own
      yield { kid, alg: 'EdDSA', spki: toBase64(key.spki), seq: registration.seq, revokedSeq: null }
    }
    const to = chain.lines.length - 1
    const lines = await read(bundlesOf({}, entries, { listSigningKeys }).range(to, to))
    // Rotations after the last entry that the server signed are not needed.
    const last = chain.lines.findLastIndex(({ signer }) => signer === undefined)
    const always = pattern.endsWith('A') ? [0, registration.seq, to] : [0, to]
    const isNeeded = ({ kind, seq }: TestLine) => kind === 'server-key-rotated' && seq < last
    const expected = chain.lines
      .filter((line) => isNeeded(line) || always.includes(line.seq))
      .map(({ seq }) => seq)
    assert.deepEqual(
      lines.slice(1, -1).map((text) => JSON.parse(text).seq),
      expected,
      pattern,
    )
    const { agentSigned } = await verify.bundle(lines.join(''))
    assert.equal(agentSigned, pattern.endsWith('A') ? 1 : 0)
  }
})

test('a run of more than 10,000 records is refused', async () => {
  let asked = 0
  async function* list() {
    for (;;) yield { ...record, id: `rec_${asked++}` }
  }
  await assert.rejects(read(bundlesOf({ list }).run(record.id)), (error) => {
    assert.ok(error instanceof TallystickError)
    assert.match(error.message, /more than 10000 records: use a range/)
    return true
  })
  assert.equal(asked, RUN_RECORDS_MAX)
})

test('a foreign record and an invalid range are refused before any output', async () => {
  const foreign = bundlesOf({ get: async () => ({ ...record, ledger: makeChain().ledger }) })
  await assert.rejects(read(foreign.record(record.id)), UsageError)
  for (const [from, to] of [
    [2, 1],
    [-1, 1],
    [0.5, 1],
    [0, Number.NaN],
  ] as const)
    await assert.rejects(read(bundlesOf().range(from, to)), UsageError)
})

test('an inconsistent answer of the server is a TallystickError', async () => {
  const keyless = bundlesOf({}, { proof: async () => ({ ...proofOf(chain, line), keys: [] }) })
  await assert.rejects(read(keyless.range(0, 1)), TallystickError)
  const empty = bundlesOf({}, { async *stream() {} })
  await assert.rejects(read(empty.record(record.id)), /no entry is signed/)
  const lacking = bundlesOf(
    {},
    {
      async *stream({ after }: { after: number }) {
        if (after === chain.lines.length - 2) yield line
      },
    },
  )
  await assert.rejects(read(lacking.record(record.id)), /the server has no entry \d+/)
  // This dishonest server alternates two keys, although a replaced key never returns. Without a limit, the search for
  // rotations would not end.
  let asked = 0
  const proof = async (seq: number) => {
    asked++
    const [key] = chain.keys()
    const shown = proofOf(chain, chain.lines[seq === 0 ? 0 : line.seq]!)
    return { ...shown, treeSize: 2 ** 40, keys: [{ ...key!, kid: `${seq % 2}`.repeat(64) }] }
  }
  async function* stream({ after }: { after: number }) {
    yield { ...line, seq: after + 1 }
  }
  await assert.rejects(
    read(bundlesOf({}, { proof, stream }).record(record.id)),
    /keys in an impossible order/,
  )
  assert.ok(asked < 1_000, `${asked} proofs`)
})
