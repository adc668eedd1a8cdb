import { spawn } from 'node:child_process'
import { resolve } from 'node:path'
import type { Readable } from 'node:stream'
import { printLine, seconds } from './archive-records.ts'

const ROOT = resolve(import.meta.dirname, '..')

/** JavaScript module that makes a process write its resource usage to file descriptor 3. */
const TELL_USAGE =
  'data:text/javascript,import{writeSync}from"node:fs";import{isMainThread}from"node:worker_threads";' +
  'if(isMainThread)process.on("exit",()=>writeSync(3,JSON.stringify(process.resourceUsage())))'

/**
 * Runs one of our programs to its end and prints its output and resource usage. Returns the duration in milliseconds.
 * Throws if the program failed.
 */
export async function runChild(
  what: string,
  args: readonly string[],
  env: NodeJS.ProcessEnv,
): Promise<number> {
  const beganAt = performance.now()
  const child = spawn(process.execPath, ['--import', TELL_USAGE, ...args], {
    cwd: ROOT,
    env,
    stdio: ['ignore', 'pipe', 'inherit', 'pipe'],
  })
  const exited = new Promise<number | null>((done) => child.once('exit', done))
  const [told, usage, code] = await Promise.all([
    readText(child.stdout!),
    readText(child.stdio[3] as Readable),
    exited,
  ])
  const ms = performance.now() - beganAt
  if (told !== '') printLine(told)
  if (code !== 0) throw new Error(`${args[0]} ended with ${code}`)
  const { maxRSS, userCPUTime, systemCPUTime } = JSON.parse(usage)
  const cpuSeconds = (userCPUTime + systemCPUTime) / 1e6
  printLine(
    `${what} in ${seconds(ms)} s: CPU ${cpuSeconds.toFixed(1)} s, ${Math.round(maxRSS / 1024)} MiB of memory at most`,
  )
  return ms
}

async function readText(stream: Readable): Promise<string> {
  return Buffer.concat(await stream.toArray())
    .toString()
    .trim()
}
