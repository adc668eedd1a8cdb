import { createServer, type RequestListener } from 'node:http'
import type { AddressInfo } from 'node:net'
import { serve } from '../../cli/witness/serve.ts'
import { WitnessState } from '../../cli/witness/state.ts'
import { Witness } from '../../cli/witness/witness.ts'
import type { WitnessSetting } from '../../src/followers/witnesses/settings.ts'
import { fromHex } from '../../src/proof/bytes.ts'
import { formatAddCheckpoint, type KnownLog } from '../../src/proof/tree/add-checkpoint.ts'
import { verifyCosignatures } from '../../src/proof/tree/cosignature.ts'
import { formatNoteKey, parseNote, parseNoteKey } from '../../src/proof/tree/note.ts'
import { nativeProviders } from '../../src/signing/native.ts'
import { temporaryFiles } from './temporary-files.ts'
import type { TestChain } from './test-chain.ts'
import { consistencyOf } from './test-proof.ts'

const { sha256 } = nativeProviders

type WitnessTest = { after(cleanup: () => unknown): void }
export type RunningWitness = WitnessSetting & {
  readonly vkey: string
  readonly state: WitnessState
  know(log: string): void
}

/**
 * Starts the witness of `tallystick witness` in this process. `logs`: verifier keys of the logs that the witness knows.
 */
export async function startWitness(
  t: WitnessTest,
  name: string,
  logs: readonly string[],
): Promise<RunningWitness> {
  const folder = `${temporaryFiles(t).directory}/witness`
  const state = await WitnessState.open(folder, name, nativeProviders)
  const known = new Map<string, KnownLog>()
  const know = (log: string) => {
    const key = parseNoteKey(log, 'signature', sha256)
    known.set(key.name, { origin: key.name, keys: [key] })
  }
  for (const log of logs) know(log)
  const warn = () => {}
  const deps = { state, logs: known, providers: nativeProviders, now: Date.now, warn }
  const server = await serve({ witness: new Witness(deps), state, warn }, { host: '127.0.0.1', port: 0 })
  t.after(async () => {
    await server.close()
    await state.close()
  })
  const vkey = formatNoteKey(name, 'cosignature', state.key.key.raw, sha256)
  return { key: state.key, url: server.url, vkey, state, know }
}

export function cosignersOf(note: string, vkeys: readonly string[]): string[] {
  const keys = vkeys.map((vkey) => parseNoteKey(vkey, 'cosignature', sha256))
  return verifyCosignatures(parseNote(note), keys, nativeProviders).map(({ witness }) => witness)
}

/** Sends the chain's checkpoint to the witness with a valid proof. Returns the answer. */
export async function askWitness(
  { url }: RunningWitness,
  chain: TestChain,
  from: number,
  size: number,
): Promise<{ status: number; text: string }> {
  const path = from === 0 ? [] : consistencyOf(chain, from, size).path.map(fromHex)
  const body = formatAddCheckpoint({ oldSize: from, path, note: chain.checkpoint(size) })
  const response = await fetch(`${url}/add-checkpoint`, { method: 'POST', body })
  return { status: response.status, text: await response.text() }
}

export async function startImpostor(t: WitnessTest, listener: RequestListener): Promise<string> {
  const server = createServer(listener)
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  t.after(() => {
    server.close()
    server.closeAllConnections()
  })
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`
}
