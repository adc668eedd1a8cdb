import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Container, Ended } from './container.ts'

const PATIENCE_MS = 60_000

/** Waits until the address answers well; throws where the container ends instead. */
export async function answers(url: string, container: Container): Promise<void> {
  const deadlineMs = performance.now() + PATIENCE_MS
  for (;;) {
    const response = await fetch(url).catch(() => null)
    await response?.body?.cancel()
    if (response?.ok) return
    if (!container.isRunning()) throw new Error(`ended instead: ${(await container.ended).stderr}`)
    if (performance.now() > deadlineMs) throw new Error(`${url} does not answer after ${PATIENCE_MS} ms`)
    await sleep(20)
  }
}

/** Field of PID 1's status, as in proc(5). */
export async function statusOf(container: Container, field: string): Promise<string[]> {
  const status = readFileSync(`/proc/${await container.pid()}/status`, 'utf8')
  return new RegExp(`^${field}:\\s+(.*)$`, 'm').exec(status)![1]!.split('\t')
}

/** The living and the dead that nobody has reaped. */
export async function childrenOf(container: Container): Promise<string> {
  const pid = await container.pid()
  return readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8')
}

export async function timedStop(container: Container, exitCode: number): Promise<number> {
  const beganAtMs = performance.now()
  const { code, stderr } = await container.stop('SIGTERM')
  assert.equal(code, exitCode, stderr)
  return Math.round(performance.now() - beganAtMs)
}

export function succeeded({ code, stdout, stderr }: Ended): string {
  assert.equal(code, 0, `${stdout}${stderr}`)
  return stdout
}

export function lastLine(text: string): string {
  return text.trimEnd().split('\n').at(-1)!
}
