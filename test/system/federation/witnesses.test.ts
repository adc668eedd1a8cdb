import assert from 'node:assert/strict'
import { test } from 'node:test'
import { PEER_CHECKPOINT_CHARS_MAX } from '../../../src/outside/federation/limits.ts'
import { fromHex } from '../../../src/proof/bytes.ts'
import { formatAddCheckpoint } from '../../../src/proof/tree/add-checkpoint.ts'
import { formatNoteKey, parseNote, parseNoteKey, signatureLine } from '../../../src/proof/tree/note.ts'
import { nativeProviders } from '../../../src/signing/native.ts'
import { type Organisation, peer, startOrganisations } from '../../helpers/federation.ts'
import { makeChain, type TestChain } from '../../helpers/test-chain.ts'
import { consistencyOf } from '../../helpers/test-proof.ts'
import { until } from '../../helpers/wait.ts'
import { cosignersOf } from '../../helpers/witness.ts'
import { Mallory } from './mallory.ts'

const { sha256 } = nativeProviders

test('peers cosign each other’s checkpoints without any setting', async (t) => {
  const [acme, bolt] = (await startOrganisations(t, 2)) as [Organisation, Organisation]
  const id = await peer(acme, bolt)
  const witnessOf = async (side: Organisation) => (await side.ask('GET', `/v1/peers/${id}`)).witness
  for (const [side, other] of [
    [acme, bolt],
    [bolt, acme],
  ] as const) {
    // The witness's key is read from the witness, not from the ledger whose checkpoints it cosigns.
    const vkey: string = (await witnessOf(other)).ownKey
    const served = async () => side.ask('GET', `/tlog/${side.ledger}/checkpoint`) as Promise<string>
    await until(async () => cosignersOf(await served(), [vkey]).length === 1)
    assert.deepEqual(cosignersOf(await served(), [vkey]), [(await other.ask('GET', '/v1/ledger')).origin])
    assert.equal((await witnessOf(side)).key, vkey)
    await until(async () => {
      const [own, theirs] = [await witnessOf(side), await witnessOf(other)]
      return own.cosignedSize > 0 && own.cosignedSize === theirs.seenSize
    })
  }
})

test('a peer that shows another history gets no cosignature, and both notes are stored', async (t) => {
  const [victim] = (await startOrganisations(t, 1)) as [Organisation]
  const mallory = await Mallory.meet(t, victim)
  const { chain } = mallory
  for (let i = 0; i < 4; i++) chain.notarize()
  const log = formatNoteKey(chain.origin, 'signature', chain.noteSigner.key.raw, sha256)
  const send = async (of: TestChain, from: number, size: number, changes: object = {}) => {
    const path = from === 0 || from === size ? [] : consistencyOf(of, from, size).path.map(fromHex)
    const note = of.checkpoint(size, { origin: chain.origin, signer: chain.noteSigner })
    const checkpoint = formatAddCheckpoint({ oldSize: from, path, note })
    const answered = await mallory.request('checkpoint', { log, witness: null, checkpoint, ...changes })
    return { note, ...answered }
  }
  const { ownKey } = (await victim.ask('GET', `/v1/peers/${mallory.peer}`)).witness
  const first = await send(chain, 0, 3)
  assert.deepEqual(cosignersOf(first.note + first.body.line, [ownKey]), [ownKey.split('+')[0]])

  // The fork has the same operator and keys, but another history.
  const fork = makeChain()
  for (let i = 0; i < 8; i++) fork.notarize()
  for (const [from, size] of [
    [3, 5],
    [3, 3],
  ] as const)
    assert.equal((await send(fork, from, size)).body.outcome, 'refused', `${from} to ${size}`)
  assert.deepEqual((await send(fork, 0, 5)).body, { outcome: 'conflict', size: 3 })
  const { fork: kept, seenSize } = (await victim.ask('GET', `/v1/peers/${mallory.peer}`)).witness
  assert.equal(seenSize, 3)
  assert.equal(kept.held, first.note)
  assert.equal(kept.note, fork.checkpoint(3, { origin: chain.origin, signer: chain.noteSigner }))

  const grown = await send(chain, 3, 5)
  assert.equal(cosignersOf(grown.note + grown.body.line, [ownKey]).length, 1)
  const back = await send(chain, 3, 4)
  assert.deepEqual(back.body, { outcome: 'conflict', size: 5 })
  // The request names a log other than the peering's log, or a key other than the key that signed.
  const stranger = formatNoteKey('other.example/log', 'signature', chain.noteSigner.key.raw, sha256)
  assert.equal((await send(chain, 5, 5, { log: stranger })).body.outcome, 'refused')
  const refused = await send(chain, 5, 5, { witness: ownKey })
  assert.deepEqual([refused.status, refused.body.path], [422, '/witness'])

  // C2SP allows extension lines after the root, which the log signs too. The longest note that a request may have
  // must be stored.
  const { text } = parseNote(chain.checkpoint(6, { origin: chain.origin, signer: chain.noteSigner }))
  const long = `${text}${'x'.repeat(PEER_CHECKPOINT_CHARS_MAX - 1_000)}\n`
  const { name, keyId } = parseNoteKey(log, 'signature', sha256)
  const note = `${long}\n${signatureLine(name, keyId, chain.noteSigner.sign(Buffer.from(long)))}`
  const checkpoint = formatAddCheckpoint({
    oldSize: 5,
    path: consistencyOf(chain, 5, 6).path.map(fromHex),
    note,
  })
  const stored = await mallory.request('checkpoint', { log, witness: null, checkpoint })
  assert.equal(stored.body.outcome, 'cosigned')
})

test('a deployment with witnesses switched off neither cosigns nor asks peers to', async (t) => {
  const [victim] = (await startOrganisations(t, 1, {
    environment: { TALLYSTICK_PEER_WITNESSES: 'false' },
  })) as [Organisation]
  const mallory = await Mallory.meet(t, victim)
  const { status, body } = await mallory.request('checkpoint', { log: 'x', witness: null, checkpoint: '' })
  assert.deepEqual([status, body.code], [404, 'witness_off'])
  assert.equal((await victim.ask('GET', `/v1/peers/${mallory.peer}`)).witness.ownKey, null)
  assert.deepEqual(mallory.checkpoints, [])
})
