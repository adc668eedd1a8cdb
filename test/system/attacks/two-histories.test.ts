import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { cosign } from '../../../src/proof/tree/cosignature.ts'
import { parseNote } from '../../../src/proof/tree/note.ts'
import { nativeProviders } from '../../../src/signing/native.ts'
import { runAlone } from '../../helpers/run-command.ts'
import { temporaryFiles } from '../../helpers/temporary-files.ts'
import { makeChain, type TestChain } from '../../helpers/test-chain.ts'
import { proofOf, verifierKeyOf } from '../../helpers/test-proof.ts'
import { askWitness, type RunningWitness, startWitness } from '../../helpers/witness.ts'

/*
 * An operator with all keys of the server has two histories of one ledger, of the same size. The operator shows a
 * different history to each of two readers. Neither reader has a checkpoint or knows of the other reader. Both readers
 * know the first key and three witnesses.
 */

async function setUp(t: TestContext) {
  const shown = makeChain()
  while (shown.lines.length < 20) shown.notarize()
  const { ledger, firstSigner: signer, noteSigner } = shown
  const other = makeChain({ ledger, signer, noteSigner })
  while (other.lines.length < 20) other.notarize()
  const witnesses = await Promise.all(
    ['w1.example', 'w2.example', 'w3.example'].map((name) => startWitness(t, name, [verifierKeyOf(shown)])),
  )
  const policy = ['--witnesses-min', '2', ...witnesses.flatMap(({ vkey }) => ['--witness', vkey])]
  const strict = ['--strict', '--key', signer.kidHex, ...policy]
  const files = temporaryFiles(t)
  const verify = (chain: TestChain, note: string, ...more: string[]) => {
    const path = files.write('export', `${chain.exportLines(note).join('\n')}\n`)
    return runAlone(['verify', path, ...more])
  }
  return { shown, other, witnesses, strict, verify, files }
}

test('without witnesses each of two histories verifies; with them only the cosigned one', async (t) => {
  const { shown, other, witnesses, strict, verify } = await setUp(t)
  let cosigned = shown.checkpoint()
  for (const witness of witnesses) cosigned += (await askWitness(witness, shown, 0, 20)).text
  for (const chain of [shown, other])
    assert.match((await verify(chain, chain.checkpoint())).stdout, /^INTEGRITY_OK/)
  assert.match((await verify(shown, cosigned, ...strict)).stdout, /^INTEGRITY_OK .* witnessed=20 of 20/)

  for (const witness of witnesses) {
    assert.equal((await askWitness(witness, other, 20, 20)).status, 422)
    assert.equal((await askWitness(witness, other, 0, 20)).status, 409)
  }
  const forged = other.checkpoint()
  assert.match((await verify(other, forged, ...strict)).stdout, /code=witnesses_too_few/)
  // The genuine cosignatures do not fit the false checkpoint, because they sign another text.
  const moved = forged + cosigned.slice(shown.checkpoint().length)
  assert.match((await verify(other, moved, ...strict)).stdout, /code=signature_invalid/)
})

test('a history that continues the fork gets no cosignature, and its proof fails', async (t) => {
  const { shown, other, witnesses, strict, files } = await setUp(t)
  for (const witness of witnesses) assert.equal((await askWitness(witness, shown, 0, 20)).status, 200)
  other.notarize()
  for (const witness of witnesses) assert.equal((await askWitness(witness, other, 20, 21)).status, 422)
  const proof = files.write('proof', JSON.stringify(proofOf(other, other.lines[20]!)))
  const { stdout } = await runAlone(['verify', '--proof', proof, ...strict])
  assert.match(stdout, /^PROOF_FAILED code=witnesses_too_few/)
})

test('a cosignature of one dishonest witness is too few for a second history', async (t) => {
  const { shown, other, witnesses, strict, verify } = await setUp(t)
  for (const witness of witnesses) await askWitness(witness, shown, 0, 20)
  const [{ key, state }] = witnesses as [RunningWitness]
  const { text } = parseNote(other.checkpoint())
  const line = cosign(text, 1_700_000_000, key.name, state.signer, nativeProviders.sha256)
  assert.match((await verify(other, other.checkpoint() + line, ...strict)).stdout, /code=witnesses_too_few/)
})
