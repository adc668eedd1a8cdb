import assert from 'node:assert/strict'
import { EventEmitter } from 'node:events'
import type { Socket } from 'node:net'
import { test } from 'node:test'
import { WriteDeadlines } from '../../../src/http/connections/write-deadlines.ts'

/**
 * A fake connection with the members that the deadlines read. With a real connection, a test could not control how much
 * the kernel takes, and when.
 */
class Connection extends EventEmitter {
  bytesWritten = 0
  writableLength = 0
  isOpen = true

  write(bytes: number): void {
    this.bytesWritten += bytes
    this.writableLength += bytes
  }

  taken(bytes: number): void {
    this.writableLength -= bytes
  }

  destroy(): void {
    this.isOpen = false
    this.emit('close')
  }
}

function watch() {
  let nowMs = 0
  const deadlines = new WriteDeadlines(() => nowMs, { stallMs: 1_000, bytesPerSecondMin: 1_000 })
  const connection = new Connection()
  deadlines.watch(connection as unknown as Socket)
  const lookAt = (ms: number) => {
    nowMs = ms
    deadlines.check()
    return connection.isOpen
  }
  return { deadlines, connection, lookAt }
}

test('a connection without pending bytes stays open', () => {
  const { connection, lookAt } = watch()
  assert.equal(lookAt(0), true)
  connection.write(500)
  connection.taken(500)
  assert.equal(lookAt(1_000_000), true)
})

test('pending bytes must be received before a deadline that grows with their number', () => {
  for (const [bytes, ms] of [
    [1, 1_001],
    [2_000, 3_000],
  ] as const) {
    const { deadlines, connection, lookAt } = watch()
    connection.write(bytes)
    assert.equal(lookAt(0), true)
    connection.taken(bytes / 2)
    assert.equal(lookAt(ms - 1), true)
    assert.equal(lookAt(ms), false, 'a part of it extends nothing')
    assert.deepEqual([deadlines.cutOff, deadlines.open.size], [1, 0])
  }
})

test('bytes written meanwhile get their own deadline, once earlier bytes are received', () => {
  const { connection, lookAt } = watch()
  connection.write(100)
  lookAt(0)
  connection.write(100)
  connection.taken(100)
  assert.equal(lookAt(1_050), true)
  assert.equal(lookAt(2_149), true)
  assert.equal(lookAt(2_150), false)
})

test('heartbeats behind unreceived bytes do not extend the deadline', () => {
  const { connection, lookAt } = watch()
  connection.write(100)
  lookAt(0)
  for (let ms = 100; ms < 1_100; ms += 100) {
    connection.write(10)
    assert.equal(lookAt(ms), true)
  }
  assert.equal(lookAt(1_100), false)
})
