import assert from 'node:assert/strict'
import type { Image } from './build.ts'
import { runInContainer } from './container.ts'

const RUNS = 3
/** Threads that may be loading when the process ends. */
const THREADS_MAX = 2
/** Nobody listens there: a server loads all that it needs, tries to connect, and ends. */
const ENV = {
  TALLYSTICK_API_DATABASE_URL: 'postgres://tallystick_api:none@127.0.0.1:1/none',
  TALLYSTICK_MASTER_KEY: 'a'.repeat(64),
}

/** Time of a server to load, with what the image has compiled beforehand and without. Throws if that is not used. */
export async function measureStart(image: Image): Promise<string> {
  const { stderr } = await runInContainer(image, ['server'], {
    env: { ...ENV, NODE_DEBUG_NATIVE: 'COMPILE_CACHE' },
  })
  const taken = stderr.match(/was accepted/g)?.length ?? 0
  // Counted, because threads write into one another's lines; and one that still loads when the process ends has said half of one.
  const count = (what: RegExp) => stderr.match(what)?.length ?? 0
  const missed = count(/reading cache from/g) - count(/success, size=/g)
  assert.ok(taken > 500, `only ${taken} modules were found compiled`)
  assert.ok(missed <= THREADS_MAX, `${missed} were not compiled when the image was made`)
  assert.equal(count(/was rejected/g), 0)
  const [compiled, anew]: [number[], number[]] = [[], []]
  for (let i = 0; i < RUNS; i++) {
    compiled.push(await timed(image, {}))
    anew.push(await timed(image, { NODE_DISABLE_COMPILE_CACHE: '1' }))
  }
  return `a server is loaded in ${Math.min(...compiled)} ms (${taken} modules compiled beforehand), without them in ${Math.min(...anew)} ms`
}

async function timed(image: Image, env: Record<string, string>): Promise<number> {
  const beganAtMs = performance.now()
  const { code, stderr } = await runInContainer(image, ['server'], { env: { ...ENV, ...env } })
  assert.deepEqual([code, /ECONNREFUSED/.test(stderr)], [1, true], stderr)
  return Math.round(performance.now() - beganAtMs)
}
