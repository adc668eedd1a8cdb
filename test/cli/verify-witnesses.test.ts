import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { UsageError } from '../../sdk/errors.ts'
import * as verify from '../../sdk/verify/index.ts'
import { signatureLine } from '../../src/proof/tree/note.ts'
import { makeCosigners } from '../helpers/cosigners.ts'
import { runAlone } from '../helpers/run-command.ts'
import { temporaryFiles } from '../helpers/temporary-files.ts'
import { bundleTexts, rangeOf } from '../helpers/test-bundle.ts'
import { makeChain } from '../helpers/test-chain.ts'
import { proofOf, verifierKeyOf } from '../helpers/test-proof.ts'

const { vkeys, cosigned, cosignedAt } = makeCosigners(3)
const chain = makeChain()
for (let i = 0; i < 6; i++) chain.notarize()
const size = chain.lines.length
const TWO_OF_THREE = [...vkeys.flatMap((vkey) => ['--witness', vkey]), '--witnesses-min', '2']
const STRICT = ['--strict', '--key', chain.firstSigner.kidHex]

/** Verifier key of 1,312 bytes. C2SP witnesses publish such a key in addition to an Ed25519 key. */
const POST_QUANTUM = `w0.example+00000000+${Buffer.concat([Buffer.of(6), Buffer.alloc(1_312, 7)]).toString('base64')}`

const exportOf = (t: TestContext, note = chain.checkpoint()) =>
  temporaryFiles(t).write('ledger.ndjson', `${chain.exportLines(note).join('\n')}\n`)

test('with --strict a ledger needs a checkpoint with enough cosignatures, but no stored checkpoint', async (t) => {
  const ok = await runAlone([
    'verify',
    exportOf(t, cosigned(chain.checkpoint(), 0, 2)),
    ...TWO_OF_THREE,
    ...STRICT,
  ])
  assert.match(ok.stdout, new RegExp(`^INTEGRITY_OK .* checkpoint=own .* witnessed=${size} of ${size}\n$`))
  assert.equal(ok.code, 0)
  const one = exportOf(t, cosigned(chain.checkpoint(), 0))
  const said = await runAlone(['verify', one, ...TWO_OF_THREE])
  assert.match(said.stdout, /^INTEGRITY_OK .* witnessed=0 of /)
  const refused = await runAlone(['verify', one, ...TWO_OF_THREE, ...STRICT])
  assert.match(refused.stdout, /^INTEGRITY_FAILED code=witnesses_too_few /)
  assert.equal(refused.code, 1)
  const kept = temporaryFiles(t).write('kept.note', cosigned(chain.checkpoint(5), 1, 2))
  const withKept = await runAlone(['verify', one, ...TWO_OF_THREE, ...STRICT, '--checkpoint', kept])
  assert.match(withKept.stdout, new RegExp(`^INTEGRITY_OK .* covered=5 .* witnessed=5 of ${size}\n$`))
  // The user's own checkpoint counts only if it has enough cosignatures.
  const own = temporaryFiles(t).write('own.note', chain.checkpoint(5))
  const withOwn = await runAlone(['verify', one, ...TWO_OF_THREE, ...STRICT, '--checkpoint', own])
  assert.match(withOwn.stdout, /code=witnesses_too_few/)
})

test('refuses a ledger whose witnesses cosigned a different history', async (t) => {
  const other = makeChain()
  const note = cosigned(other.checkpoint(), 0, 1, 2)
  const { stdout } = await runAlone(['verify', exportOf(t, note), ...TWO_OF_THREE, ...STRICT])
  assert.match(stdout, /^INTEGRITY_FAILED .*code=checkpoint_foreign/)
  const forged = cosigned(chain.checkpoint(4), 0).slice(chain.checkpoint(4).length)
  const carried = await runAlone(['verify', exportOf(t, chain.checkpoint() + forged), ...TWO_OF_THREE])
  assert.match(carried.stdout, /^INTEGRITY_FAILED .*code=signature_invalid/)
})

test('with --strict a bundle needs a checkpoint that enough of the witnesses cosigned', async (t) => {
  const bundle = rangeOf(chain, { from: 3, to: 4 })
  const textOf = (note: string) =>
    `${bundleTexts({ ...bundle, head: { ...bundle.head, checkpoint: note } }).join('\n')}\n`
  const check = (note: string, ...more: string[]) =>
    runAlone([
      'verify',
      'bundle',
      temporaryFiles(t).write('x.bundle', textOf(note)),
      ...TWO_OF_THREE,
      ...more,
    ])
  const enough = cosigned(chain.checkpoint(), 1, 2)
  assert.match((await check(enough, ...STRICT)).stdout, /^BUNDLE_OK .* cosigned=2\n$/)
  const few = cosigned(chain.checkpoint(), 1)
  assert.match((await check(few)).stdout, /^BUNDLE_OK .* cosigned=1\n$/)
  assert.match((await check(few, ...STRICT)).stdout, /^BUNDLE_FAILED code=witnesses_too_few /)
  // A checkpoint of the whole tree with a cosignature that belongs to the checkpoint of size 4.
  const forged = chain.checkpoint() + cosigned(chain.checkpoint(4), 0).slice(chain.checkpoint(4).length)
  assert.match((await check(forged)).stdout, /^BUNDLE_FAILED .*code=signature_invalid/)
  const witnesses = { keys: vkeys, min: 2 }
  assert.equal((await verify.bundle(textOf(enough), { witnesses })).cosigned, 2)
  await assert.rejects(verify.bundle(textOf(few), { witnesses }), { code: 'witnesses_too_few' })
})

test('with --strict a proof needs a checkpoint that enough of the witnesses cosigned', async (t) => {
  const prove = (note: string, ...more: string[]) => {
    const proof = { ...proofOf(chain, chain.lines[4]!), checkpoint: note }
    return runAlone([
      'verify',
      '--proof',
      temporaryFiles(t).write('proof.json', JSON.stringify(proof)),
      ...TWO_OF_THREE,
      ...more,
    ])
  }
  const enough = cosigned(chain.checkpoint(), 1, 2)
  assert.match((await prove(enough, ...STRICT)).stdout, /^PROOF_OK .* cosigned=2\n$/)
  const few = cosigned(chain.checkpoint(), 1)
  assert.match((await prove(few)).stdout, /^PROOF_OK .* cosigned=1\n$/)
  assert.match((await prove(few, ...STRICT)).stdout, /^PROOF_FAILED code=witnesses_too_few /)
})

/**
 * Two signature lines by unknown keys. The first is of an unknown witness. The second is a post-quantum line of a
 * witness whose other key is known.
 */
const UNKNOWN =
  signatureLine('stranger.example', new Uint8Array(4), new Uint8Array(64)) +
  signatureLine('w0.example', new Uint8Array(4), new Uint8Array(8 + 2_420))

test('signature lines by unknown keys are accepted and counted separately', async (t) => {
  const note = cosigned(chain.checkpoint(), 0, 1) + UNKNOWN
  const counts = { cosigned: 2, unknownCosignatures: 2 }
  const countsOf = ({ cosigned, unknownCosignatures }: Record<string, unknown>) => ({
    cosigned,
    unknownCosignatures,
  })
  const witnesses = { keys: vkeys, min: 2 }

  const proof = { ...proofOf(chain, chain.lines[4]!), checkpoint: note }
  const proofFile = temporaryFiles(t).write('proof.json', JSON.stringify(proof))
  const proved = ['verify', '--proof', proofFile, ...TWO_OF_THREE]
  assert.match((await runAlone(proved)).stdout, /^PROOF_OK .* cosigned=2 unknown-cosignatures=2\n$/)
  assert.deepEqual(countsOf(JSON.parse((await runAlone([...proved, '--json'])).stdout)), counts)
  assert.deepEqual(countsOf(await verify.proof(proof, { witnesses })), counts)
  assert.equal((await verify.proof(proof)).unknownCosignatures, null)

  const bundle = rangeOf(chain, { from: 3, to: 4 })
  const text = `${bundleTexts({ ...bundle, head: { ...bundle.head, checkpoint: note } }).join('\n')}\n`
  const bundled = ['verify', 'bundle', temporaryFiles(t).write('x.bundle', text), ...TWO_OF_THREE]
  assert.match((await runAlone(bundled)).stdout, /^BUNDLE_OK .* cosigned=2 unknown-cosignatures=2\n$/)
  assert.deepEqual(countsOf(JSON.parse((await runAlone([...bundled, '--json'])).stdout)), counts)
  assert.deepEqual(countsOf(await verify.bundle(text, { witnesses })), counts)

  const ledger = await runAlone(['verify', exportOf(t, note), ...TWO_OF_THREE, ...STRICT])
  assert.match(ledger.stdout, new RegExp(`^INTEGRITY_OK .* witnessed=${size} of ${size}\n$`))
})

test('a cosignature with a far wrong time counts, up to the format’s maximum', async (t) => {
  for (const [seconds, code] of [
    [1_700_000_000_000_000_000n, 0],
    [2n ** 63n - 1n, 0],
    [2n ** 63n, 1],
  ] as const) {
    const note = cosignedAt(cosigned(chain.checkpoint(), 0), 1, seconds)
    const ledger = await runAlone(['verify', exportOf(t, note), ...TWO_OF_THREE, ...STRICT])
    assert.equal(ledger.code, code, `${seconds}`)
    if (code === 1) assert.match(ledger.stdout, /code=signature_invalid/)
  }
})

test('invalid witness options are refused with advice', async (t) => {
  const file = exportOf(t)
  const wrong: [string[], RegExp][] = [
    [['--witnesses-min', '1'], /name the witnesses with --witness/],
    [['--witness', 'x'], /--witness takes the verifier key of a witness/],
    [['--witness', verifierKeyOf(chain)], /has a key of type 01 \(Ed25519\), not of type 04/],
    [
      ['--witness', POST_QUANTUM],
      /w0\.example has a key of type 06 \(ML-DSA-44 cosignature\), not of type 04/,
    ],
    [['--witness', vkeys[0]!, '--witness', vkeys[0]!], /would count twice/],
    [['--witness', vkeys[0]!, '--witnesses-min', '2'], /--witnesses-min takes a whole number, from 1 to 1/],
  ]
  for (const [args, pattern] of wrong) {
    const { code, stderr } = await runAlone(['verify', file, ...args])
    assert.equal(code, 64)
    assert.match(stderr, pattern)
  }
})

test('the SDK requires enough cosignatures if witnesses are given, else witnesses_too_few', async () => {
  const witnesses = { keys: vkeys, min: 2 }
  const few = cosigned(chain.checkpoint(), 0)
  const enough = cosigned(chain.checkpoint(), 0, 1)
  const noteKey = verifierKeyOf(chain)
  const asked: ((note: string) => Promise<unknown>)[] = [
    (note) => verify.export(`${chain.exportLines(note).join('\n')}\n`, { witnesses }),
    (note) => verify.proof({ ...proofOf(chain, chain.lines[4]!), checkpoint: note }, { witnesses }),
    (note) => verify.checkpoint(note, { noteKey, witnesses }),
  ]
  for (const ask of asked) {
    await ask(enough)
    await assert.rejects(ask(few), { code: 'witnesses_too_few' })
  }
  await assert.rejects(verify.checkpoint(few, { noteKey, witnesses: { keys: ['x'] } }), UsageError)
})
