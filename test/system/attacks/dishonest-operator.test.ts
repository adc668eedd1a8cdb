import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { fromBase64, toBase64 } from '../../../src/proof/bytes.ts'
import { serveCheckpoints } from '../../helpers/checkpoint-server.ts'
import { runAlone } from '../../helpers/run-command.ts'
import { temporaryFiles } from '../../helpers/temporary-files.ts'
import { bundleTexts, rangeOf, selectionOf } from '../../helpers/test-bundle.ts'
import { makeChain, makeSigner, type TestChain, type TestLine } from '../../helpers/test-chain.ts'
import { proofOf, receiptFileOf, recordOf, verifierKeyOf } from '../../helpers/test-proof.ts'
import { askWitness, startWitness } from '../../helpers/witness.ts'

/*
 * An operator has everything of the server: envelope key, note key, master key and database. The operator makes another
 * history of a ledger, signs all entries again, and shows this false history.
 *
 * Each test first shows that the false history verifies for a reader who knows only the keys. Then it shows who detects
 * the false history, and by which command. The same command must accept the honest history. docs/start/trust-model.md
 * has the table.
 */

const SIZE = 12
/** Size of the tree for which outsiders have receipts, checkpoints and bundles. */
const KEPT = 9
const TARGET = 6

/** Makes a ledger that has only single records after its first three entries. */
function makeHonest(): TestChain {
  const chain = makeChain()
  while (chain.lines.length < SIZE) chain.notarize()
  return chain
}

/**
 * Makes the ledger again with the same keys but other entries. `write` is called with each honest entry. It appends the
 * honest entry or another one.
 */
function forge(honest: TestChain, write: (line: TestLine, forged: TestChain) => unknown): TestChain {
  const { ledger, firstSigner: signer, noteSigner } = honest
  const forged = makeChain({ ledger, signer, noteSigner, empty: true })
  for (const line of honest.lines) write(line, forged)
  return forged
}

function copy({ kind, recordedAt, envelope, documents, items }: TestLine, forged: TestChain): void {
  forged.push(kind, recordedAt, fromBase64(envelope), { documents, items })
}

function outsiders(t: TestContext, honest: TestChain) {
  const files = temporaryFiles(t)
  let written = 0
  const write = (content: string | Uint8Array | object) =>
    files.write(
      `${++written}`,
      typeof content === 'string' || content instanceof Uint8Array ? content : JSON.stringify(content),
    )
  const target = honest.lines[TARGET]!
  const noteKey = verifierKeyOf(honest)
  const run = async (...args: string[]) => {
    const { code, stdout } = await runAlone(args)
    return `${code} ${stdout}`
  }
  return {
    write,
    run,
    noteKey,
    verify: (chain: TestChain, ...more: string[]) =>
      run(
        'verify',
        write(`${chain.exportLines().join('\n')}\n`),
        '--key',
        honest.firstSigner.kidHex,
        ...more,
      ),
    checkpoint: write(honest.checkpoint(KEPT)),
    receipt: write(receiptFileOf(honest, target, { size: KEPT })),
    bundle: write(
      bundleTexts(
        selectionOf(honest, { record: recordOf(honest, target).id }, [{ line: target }], { size: KEPT }),
      ).join('\n'),
    ),
    oldExport: write(`${honest.exportLines(honest.checkpoint()).join('\n')}\n`),
  }
}

/** Starts three witnesses that have cosigned the honest ledger at `size`. Readers demand two cosignatures. */
async function witnessed(t: TestContext, honest: TestChain, size: number) {
  const names = ['w1.example', 'w2.example', 'w3.example']
  const witnesses = await Promise.all(names.map((name) => startWitness(t, name, [verifierKeyOf(honest)])))
  const cosigned = await Promise.all(witnesses.map((witness) => askWitness(witness, honest, 0, size)))
  return {
    /** The checkpoint with the cosignatures of the witnesses that have seen the checkpoint. */
    note: honest.checkpoint(size) + cosigned.map(({ text }) => text).join(''),
    options: [
      '--strict',
      '--witnesses-min',
      '2',
      ...witnesses.flatMap(({ vkey }) => ['--witness', vkey]),
    ] as string[],
    ask: async (chain: TestChain, from: number, at: number) =>
      Promise.all(witnesses.map(async (witness) => (await askWitness(witness, chain, from, at)).status)),
  }
}

const HONEST = /^0 INTEGRITY_OK /
const refused = (code: string, seq?: number) =>
  new RegExp(`^1 INTEGRITY_FAILED ${seq === undefined ? '' : `seq=${seq} `}code=${code} `)

test('two histories of one size are found by a witness, or with a checkpoint of the other', async (t) => {
  const honest = makeHonest()
  const forged = forge(honest, (line, forged) => {
    if (line.seq < TARGET) copy(line, forged)
    else forged.notarize(actingAs(honest))
  })
  assert.equal(forged.lines.length, honest.lines.length)
  const { verify, write, run } = outsiders(t, honest)
  for (const chain of [honest, forged]) assert.match(await verify(chain), HONEST)

  const witnesses = await witnessed(t, honest, SIZE)
  const exportOf = (chain: TestChain, note: string) => write(`${chain.exportLines(note).join('\n')}\n`)
  const ask = (chain: TestChain, note: string) =>
    run('verify', exportOf(chain, note), '--key', honest.firstSigner.kidHex, ...witnesses.options)
  assert.match(await ask(honest, witnesses.note), / witnessed=12 of 12\n$/)
  assert.deepEqual(await witnesses.ask(forged, SIZE, SIZE), [422, 422, 422])
  assert.match(await ask(forged, forged.checkpoint()), refused('witnesses_too_few'))
  // The honest cosignatures do not fit the false checkpoint, because they sign another text.
  const moved = forged.checkpoint() + witnesses.note.slice(honest.checkpoint().length)
  assert.match(await ask(forged, moved), refused('signature_invalid', 0))

  const ofOther = write(honest.checkpoint())
  assert.match(await verify(forged, '--checkpoint', ofOther), refused('checkpoint_mismatch', SIZE - 1))
  assert.match(await verify(honest, '--checkpoint', ofOther), HONEST)
})

test('a dropped record is found with a receipt or an earlier checkpoint, or by a witness', async (t) => {
  const honest = makeHonest()
  const forged = forge(honest, (line, forged) => {
    if (line.seq !== TARGET) copy(line, forged)
  })
  while (forged.lines.length < SIZE) forged.notarize(actingAs(honest))
  const { verify, receipt, checkpoint, bundle, write, run, noteKey } = outsiders(t, honest)
  assert.match(await verify(forged), HONEST)
  // The receipt alone still verifies. Only checking the ledger against it shows the forgery.
  assert.match(await run('verify', 'receipt', receipt, '--note-key', noteKey), /^0 RECEIPT_OK /)

  assert.match(await verify(honest, '--receipt', receipt), / checkpoint=given covered=9 own=12 of 12\n$/)
  assert.match(await verify(forged, '--receipt', receipt), refused('receipt_mismatch', TARGET))
  // This receipt belongs to the record before the dropped record. The forged ledger has this record at the same
  // position, but the forged tree does not match the receipt's tree.
  const earlier = write(receiptFileOf(honest, honest.lines[TARGET - 1]!, { size: KEPT }))
  assert.match(await verify(honest, '--receipt', earlier), HONEST)
  assert.match(await verify(forged, '--receipt', earlier), refused('receipt_mismatch', KEPT - 1))
  for (const kept of [checkpoint, bundle])
    assert.match(await verify(forged, '--checkpoint', kept), refused('checkpoint_mismatch', KEPT - 1))

  const witnesses = await witnessed(t, honest, KEPT)
  assert.deepEqual(await witnesses.ask(forged, KEPT, SIZE), [422, 422, 422])
  assert.match(await verify(forged, ...witnesses.options), refused('witnesses_too_few'))
  assert.deepEqual(await witnesses.ask(honest, KEPT, SIZE), [200, 200, 200])
})

test('a rewritten payload is found with an earlier checkpoint, export, bundle or receipt', async (t) => {
  const honest = makeHonest()
  const target = recordOf(honest, honest.lines[TARGET]!)
  const forged = forge(honest, (line, forged) => {
    if (line.seq === TARGET) forged.notarize(actingAs(honest), target.id, { n: 'rewritten' })
    else copy(line, forged)
  })
  const { verify, receipt, checkpoint, bundle, oldExport, write, run, noteKey } = outsiders(t, honest)
  assert.match(await verify(forged), HONEST)
  const rewritten = write({ ...recordOf(forged, forged.lines[TARGET]!), ...actingAs(honest) })
  const proof = write(proofOf(forged, forged.lines[TARGET]!))
  assert.match(await run('verify', '--proof', proof, '--record', rewritten), /^0 PROOF_OK .* record=same/)

  const at = [
    [checkpoint, KEPT],
    [bundle, KEPT],
    [oldExport, SIZE],
  ] as const
  for (const [kept, size] of at) {
    assert.match(await verify(honest, '--checkpoint', kept), new RegExp(` covered=${size} `))
    assert.match(await verify(forged, '--checkpoint', kept), refused('checkpoint_mismatch', size - 1))
  }
  assert.match(await verify(forged, '--receipt', receipt), refused('receipt_mismatch', TARGET))
  assert.match(await verify(honest, '--receipt', receipt), HONEST)

  // A reader can detect the forgery without the ledger: the record that the server shows now does not match the
  // receipt.
  const ofReceipt = ['verify', 'receipt', receipt, '--note-key', noteKey, '--record']
  assert.match(await run(...ofReceipt, rewritten), /^1 RECEIPT_FAILED code=record_contradicts_proof /)
  assert.match(await run(...ofReceipt, write(target)), /^0 RECEIPT_OK .* record=same/)
  // A proof or bundle of the false history cannot be connected to the honest checkpoint.
  const since = ['--checkpoint', write(honest.checkpoint())]
  assert.match(await run('verify', '--proof', proof, ...since), /^1 PROOF_FAILED code=checkpoint_mismatch /)
  const range = { from: TARGET, to: TARGET }
  const shown = (chain: TestChain) =>
    run(
      'verify',
      'bundle',
      write(bundleTexts(rangeOf(chain, range)).join('\n')),
      '--note-key',
      noteKey,
      ...since,
    )
  assert.match(await shown(forged), /^1 BUNDLE_FAILED seq=0 code=checkpoint_mismatch /)
  assert.match(await shown(honest), /^0 BUNDLE_OK .* checkpoint=given /)
})

test('a cut tail is found with a later checkpoint or receipt, a watcher or a witness', async (t) => {
  const honest = makeHonest()
  const forged = forge(honest, (line, forged) => {
    if (line.seq < TARGET) copy(line, forged)
  })
  const { verify, receipt, checkpoint, run, write } = outsiders(t, honest)
  assert.match(await verify(forged), HONEST)

  for (const kept of [
    ['--checkpoint', checkpoint],
    ['--receipt', receipt],
  ]) {
    assert.match(await verify(forged, ...kept), refused('checkpoint_beyond_chain'))
    assert.match(await verify(honest, ...kept), / covered=9 /)
  }

  const shown = {
    note: honest.checkpoint(KEPT),
    proof: () => assert.fail('nothing is to be proved to who has seen more'),
  }
  const url = await serveCheckpoints(t, honest, shown)
  const kept = write('')
  const watch = () => run('checkpoints', 'watch', kept, '--once', '--server', url, '--api-key', 'tly_x')
  for (let round = 0; round < 2; round++) assert.equal(await watch(), '0 ')
  shown.note = forged.checkpoint()
  assert.match(await watch(), /^1 CHECKPOINT_CONTRADICTION the ledger has 6 entries now, and had 9/)

  const witnesses = await witnessed(t, honest, KEPT)
  assert.deepEqual(await witnesses.ask(forged, 0, TARGET), [409, 409, 409])
  assert.match(await verify(forged, ...witnesses.options), refused('witnesses_too_few'))
  // The false checkpoint, which the witnesses refused, leaves them unchanged. So they still cosign the honest tree.
  assert.deepEqual(await witnesses.ask(honest, KEPT, SIZE), [200, 200, 200])
})

test('an entry forged for an agent, or a rewritten registration of its key, is found', async (t) => {
  const honest = makeChain()
  const own = makeSigner()
  honest.registerSigningKey(own, { required: true })
  while (honest.lines.length < SIZE) honest.notarize({}, undefined, undefined, own)
  const { verify, receipt, checkpoint, run, write, noteKey } = outsiders(t, honest)
  assert.match(await verify(honest), /^0 INTEGRITY_OK .* agent-signed=8\n$/)
  const other = makeSigner()
  const forgeries = [
    ['agent_signature_missing', (chain: TestChain) => chain.notarize(actingAs(honest))],
    [
      'agent_signature_missing',
      (chain: TestChain) => chain.notarize(actingAs(honest), undefined, undefined, other),
    ],
    ['agent_key_refused', (chain: TestChain) => chain.registerSigningKey(other, { ...ofAgent(honest) })],
  ] as const
  for (const [code, write] of forgeries) {
    const forged = forge(honest, copyOwn)
    write(forged)
    assert.match(await verify(forged), refused(code, SIZE))
  }

  // The history is rewritten from before the registration of the agent's key. So the real agent has signed no entry.
  // Only the operator's word says which key is the agent's first key.
  const rewritten = forge(honest, (line, forged) => {
    if (line.kind === 'agent-key-registered')
      forged.registerSigningKey(other, { required: true, ...ofAgent(honest) })
    else if (line.kind === 'record-notarized')
      forged.notarize(actingAs(honest), line.documents[0]!.subject, { n: 'rewritten' }, other)
    else copy(line, forged)
  })
  assert.match(await verify(rewritten), /^0 INTEGRITY_OK .* agent-signed=8\n$/)
  assert.match(await verify(rewritten, '--checkpoint', checkpoint), refused('checkpoint_mismatch', KEPT - 1))
  assert.match(await verify(rewritten, '--receipt', receipt), refused('receipt_mismatch', TARGET))
  assert.match(await verify(honest, '--receipt', receipt, '--checkpoint', checkpoint), HONEST)

  const pin = ['--agent-key', `${honest.agent}=${own.kidHex}`]
  assert.match(await verify(honest, ...pin), /^0 INTEGRITY_OK /)
  assert.match(await verify(rewritten, ...pin), /^1 INTEGRITY_FAILED .* code=agent_key_refused /)

  const proved = async (chain: TestChain, kid: string) => {
    const registration = chain.lines.find(({ kind }) => kind === 'agent-key-registered')!.envelope
    return run(
      'verify',
      '--proof',
      write({ ...proofOf(chain, chain.lines[TARGET]!), registration }),
      '--key',
      kid,
    )
  }
  assert.match(await proved(rewritten, other.kidHex), /^0 PROOF_OK /)
  assert.match(await proved(rewritten, own.kidHex), /^1 PROOF_FAILED code=trusted_key_absent /)
  assert.match(await proved(honest, own.kidHex), /^0 PROOF_OK /)
  const keys = write({ keys: [publicKeyOf(honest, own)] })
  const held = (chain: TestChain) =>
    run(
      'verify',
      'receipt',
      write(receiptFileOf(chain, chain.lines[TARGET]!)),
      '--note-key',
      noteKey,
      '--keys',
      keys,
    )
  assert.match(await held(rewritten), /^1 RECEIPT_FAILED code=key_unknown /)
  assert.match(await held(honest), /^0 RECEIPT_OK .* keys=given/)
})

/** Returns the members of a statement that was made by the honest ledger's agent with the agent's API key. */
function actingAs({ agent, key }: TestChain) {
  return { actor: agent, key }
}

function ofAgent(honest: TestChain) {
  return { of: honest.agent, by: actingAs(honest) }
}

function publicKeyOf({ ledger, agent }: TestChain, { kidHex, key }: ReturnType<typeof makeSigner>) {
  return { kid: kidHex, alg: 'EdDSA', spki: toBase64(key.spki), ledger, agent }
}

function copyOwn(line: TestLine, forged: TestChain): void {
  copy(line, forged)
  if (line.signer) forged.lines.at(-1)!.signer = line.signer
}
