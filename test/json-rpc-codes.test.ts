import assert from 'node:assert/strict'
import { globSync, readFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { test } from 'node:test'
import { JSON_RPC_CODES } from '../src/json-rpc-codes.ts'

const ROOT = resolve(import.meta.dirname, '..')

test('our JSON-RPC error codes are outside the ranges reserved by JSON-RPC and MCP, and differ', () => {
  const codes = Object.values(JSON_RPC_CODES)
  for (const code of codes) assert.ok(code > -32_000 || code < -32_768, `${code}`)
  assert.equal(new Set(codes).size, codes.length)
})

test('no other source has a code from the range that servers define, -32000 to -32099', () => {
  const files = ['src', 'cli', 'sdk', 'adapters'].flatMap((folder) =>
    globSync(`${folder}/**/*.ts`, { cwd: ROOT, exclude: ['**/node_modules/**'] }),
  )
  assert.ok(files.length > 500)
  const found = files.filter(
    (file) =>
      file !== join('src', 'json-rpc-codes.ts') &&
      /-32_?0\d\d\b/.test(readFileSync(join(ROOT, file), 'utf8')),
  )
  assert.deepEqual(found, [])
})
