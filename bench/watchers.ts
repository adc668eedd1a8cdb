import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { serve } from '../cli/witness/serve.ts'
import { WitnessState } from '../cli/witness/state.ts'
import { Witness } from '../cli/witness/witness.ts'
import { parseCheckpoint } from '../src/proof/tree/checkpoint.ts'
import { formatNoteKey, parseNoteKey } from '../src/proof/tree/note.ts'
import { nativeProviders } from '../src/signing/native.ts'
import type { Target } from './load/connection.ts'
import { get } from './load/post.ts'

/*
 * A witness and a monitor of a ledger that is written to. The witness cosigns each checkpoint, and the monitor reads
 * each new tile.
 */

export type Watchers = {
  /** Value of TALLYSTICK_WITNESSES for the worker. */
  readonly witnesses: string
  /** Returns the number of tiles, bundles and checkpoints that the monitor has read. */
  readonly reads: () => number
  stop(): Promise<void>
}

const NAME = 'witness.example/bench'
const MONITOR_EVERY_MS = 1_000
const TILE_HASHES = 256

/** Starts the watchers in this process, which does no other work during the measurement. */
export async function startWatchers(target: Target, bearer: string, ledger: string): Promise<Watchers> {
  const folder = mkdtempSync(join(tmpdir(), 'tallystick-bench-witness-'))
  const { noteVerifierKey } = await get(target, bearer, '/v1/ledger')
  const key = parseNoteKey(noteVerifierKey, 'signature', nativeProviders.sha256)
  const state = await WitnessState.open(join(folder, 'state'), NAME, nativeProviders)
  const warn = (message: string) => console.error(message)
  const logs = new Map([[key.name, { origin: key.name, keys: [key] }]])
  const witness = new Witness({ state, logs, providers: nativeProviders, now: Date.now, warn })
  const server = await serve({ witness, state, warn }, { host: '127.0.0.1', port: 0 })
  const vkey = formatNoteKey(NAME, 'cosignature', state.key.key.raw, nativeProviders.sha256)
  const monitor = startMonitor(target, bearer, ledger)
  return {
    witnesses: `${vkey} ${server.url}`,
    reads: monitor.reads,
    async stop() {
      await monitor.stop()
      await server.close()
      await state.close()
      rmSync(folder, { recursive: true, force: true })
    },
  }
}

/** Reads each checkpoint, and the tiles and entry bundles that are new in it. */
function startMonitor({ host, port }: Target, bearer: string, ledger: string) {
  let isOver = false
  let reads = 0
  const read = async (path: string) => {
    const headers = { authorization: `Bearer ${bearer}` }
    const answer = await fetch(`http://${host}:${port}/tlog/${ledger}/${path}`, { headers })
    const body = await answer.text()
    if (answer.ok) reads++
    return answer.ok ? body : null
  }
  const follow = async () => {
    for (let seen = 0; !isOver; await sleep(MONITOR_EVERY_MS)) {
      const note = await read('checkpoint')
      if (note === null) continue
      const { size } = parseCheckpoint(note).checkpoint
      for (let at = Math.floor(seen / TILE_HASHES) * TILE_HASHES; at < size && !isOver; at += TILE_HASHES) {
        const tile = tileName(at / TILE_HASHES) + (size - at < TILE_HASHES ? `.p/${size - at}` : '')
        for (const kind of ['0', 'entries']) await read(`tile/${kind}/${tile}`)
      }
      seen = size
    }
  }
  const following = follow().catch((error: Error) => console.error(`the monitor: ${error.message}`))
  return {
    reads: () => reads,
    async stop() {
      isOver = true
      await following
    },
  }
}

/** Formats an index as C2SP tlog-tiles requires: groups of three digits, each with an x before it except the last. */
export function tileName(index: number): string {
  const groups: string[] = []
  for (let rest = index; groups.length === 0 || rest > 0; rest = Math.floor(rest / 1_000))
    groups.unshift(String(rest % 1_000).padStart(3, '0'))
  return groups.map((group, i) => (i < groups.length - 1 ? `x${group}` : group)).join('/')
}
