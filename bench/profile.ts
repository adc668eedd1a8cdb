import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { ProductProcess } from '../test/system/deployment/product-process.ts'

/** Self times of one process's functions within the measured window, largest first. */
export type ProfileSummary = {
  readonly process: string
  readonly file: string
  readonly groups: readonly ProfileLine[]
  readonly functions: readonly ProfileLine[]
}

type ProfileLine = { readonly name: string; readonly share: number; readonly microsPerItem: number }

type ProfiledWindow = {
  start(): void
  stop(): void
  summarize(name: string, items: number): Promise<Omit<ProfileSummary, 'process'>>
}

const SAMPLING_INTERVAL_US = 500
const FUNCTIONS_MAX = 40

/**
 * Profiles a process through its inspector, only during the measured window. In a profile of the whole process, half of
 * the time would be the start.
 */
export async function profileWindow(child: ProductProcess, outDir: string): Promise<ProfiledWindow> {
  const address = await child.inspector
  const inspector = await connect(address)
  await inspector.call('Profiler.enable')
  await inspector.call('Profiler.setSamplingInterval', { interval: SAMPLING_INTERVAL_US })
  let stopped: Promise<{ profile: CpuProfile }> | null = null
  return {
    start: () => void inspector.call('Profiler.start'),
    stop() {
      stopped = inspector.call('Profiler.stop') as Promise<{ profile: CpuProfile }>
    },
    async summarize(name, items) {
      const { profile } = await stopped!
      inspector.close()
      mkdirSync(outDir, { recursive: true })
      const file = join(outDir, `${name.replace(/[^a-z0-9]+/gi, '-')}-${Date.now()}.cpuprofile`)
      writeFileSync(file, JSON.stringify(profile))
      return { file, ...summarizeProfile(profile, items) }
    },
  }
}

/** Returns a function that evaluates expressions in a process through its inspector. */
export async function evaluate(child: ProductProcess): Promise<(expression: string) => Promise<unknown>> {
  const inspector = await connect(await child.inspector)
  return async (expression) => {
    const { result } = (await inspector.call('Runtime.evaluate', { expression })) as {
      result: { value: unknown }
    }
    return result.value
  }
}

type CallFrame = { readonly functionName: string; readonly url: string; readonly lineNumber: number }

/**
 * Members of V8's profile format that the benchmark reads. Each sample is the id of a node and has one time delta in
 * µs.
 */
type CpuProfile = {
  readonly nodes: readonly {
    readonly id: number
    readonly callFrame: CallFrame
    readonly children?: readonly number[]
  }[]
  readonly samples: readonly number[]
  readonly timeDeltas: readonly number[]
}

export function summarizeProfile(
  profile: CpuProfile,
  items: number,
): Omit<ProfileSummary, 'file' | 'process'> {
  const owners = findOwners(profile)
  const groups = new Map<string, number>()
  const functions = new Map<string, number>()
  let busy = 0
  for (let i = 0; i < profile.samples.length; i++) {
    const { frame, owner } = owners.get(profile.samples[i]!)!
    const micros = Math.max(0, profile.timeDeltas[i]!)
    if (frame.functionName === '(idle)') continue
    busy += micros
    add(groups, groupOf(owner), micros)
    add(functions, frame === owner ? describe(frame) : `${frame.functionName} of ${describe(owner)}`, micros)
  }
  const lines = (from: Map<string, number>) =>
    [...from]
      .sort((a, b) => b[1] - a[1])
      .map(([name, micros]) => ({ name, share: micros / busy, microsPerItem: micros / Math.max(1, items) }))
  return { groups: lines(groups), functions: lines(functions).slice(0, FUNCTIONS_MAX) }
}

/**
 * Finds the JavaScript function for each node. A frame without a URL is C++ code, and counts for the function that
 * called it.
 */
function findOwners(profile: CpuProfile): Map<number, { frame: CallFrame; owner: CallFrame }> {
  const parents = new Map<number, number>()
  for (const node of profile.nodes) for (const child of node.children ?? []) parents.set(child, node.id)
  const frames = new Map(profile.nodes.map((node) => [node.id, node.callFrame]))
  return new Map(
    profile.nodes.map((node) => {
      let id: number | undefined = node.id
      while (id !== undefined && frames.get(id)!.url === '') id = parents.get(id)
      return [node.id, { frame: node.callFrame, owner: id === undefined ? node.callFrame : frames.get(id)! }]
    }),
  )
}

/** Groups of code by path. The first match counts. */
const GROUPS: readonly [string, RegExp][] = [
  ['pg', /node_modules\/pg/],
  ['signing and hashing', /sodium-native|\/src\/signing\/|node:internal\/crypto/],
  ['validation', /node_modules\/(zod|ajv)|\/src\/http\/schemas/],
  ['fastify', /node_modules\/(fastify|find-my-way|@fastify|avvio|light-my-request|secure-json)/],
  ['log', /node_modules\/(pino|sonic-boom|thread-stream)/],
  ['other packages', /node_modules/],
  ['node http', /node:(_http|internal\/http)/],
  ['node streams and sockets', /node:(net|stream|internal\/stream|_stream|internal\/js_stream)/],
  ['node events, timers, promises', /node:(events|timers|internal\/(timers|process|async_hooks|util|event))/],
  ['node buffers', /node:(buffer|internal\/buffer)/],
  ['node, other', /^node:/],
]

function groupOf({ functionName, url }: CallFrame): string {
  if (functionName === '(garbage collector)') return 'garbage collector'
  const own = /\/src\/([^/]+)/.exec(url)?.[1]
  const found = GROUPS.find(([, pattern]) => pattern.test(url))
  if (found) return found[0]
  return own === undefined ? 'V8 and Node, native' : `src/${own}`
}

function describe({ functionName, url, lineNumber }: CallFrame): string {
  const place = url.replace(/^file:\/\/.*?\/(node_modules|src|worker)\//, '$1/')
  return `${functionName || '(anonymous)'}${url === '' ? '' : ` ${place}:${lineNumber + 1}`}`
}

function add(sums: Map<string, number>, name: string, value: number): void {
  sums.set(name, (sums.get(name) ?? 0) + value)
}

type Inspector = { call(method: string, params?: object): Promise<unknown>; close(): void }

function connect(address: string): Promise<Inspector> {
  const { promise, resolve, reject } = Promise.withResolvers<Inspector>()
  const socket = new WebSocket(address)
  const waiting = new Map<number, { resolve(result: unknown): void; reject(error: Error): void }>()
  let calls = 0
  socket.addEventListener('open', () =>
    resolve({
      call(method, params = {}) {
        const id = ++calls
        socket.send(JSON.stringify({ id, method, params }))
        return new Promise((resolve, reject) => waiting.set(id, { resolve, reject }))
      },
      close: () => socket.close(),
    }),
  )
  socket.addEventListener('error', () => reject(new Error(`no inspector at ${address}`)))
  socket.addEventListener('message', (event) => {
    const { id, result, error } = JSON.parse(String(event.data))
    const caller = waiting.get(id)
    waiting.delete(id)
    if (error) caller?.reject(new Error(error.message))
    else caller?.resolve(result)
  })
  return promise
}
