import assert from 'node:assert/strict'
import { globSync, readFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { test } from 'node:test'
import { childEnvironment } from '../../cli/child-environment.ts'
import { makeApiKey, makeOperatorKey } from '../../src/ledgers/api-keys.ts'
import { uuidOfBytes } from '../../src/proof/ids.ts'

const ROOT = resolve(import.meta.dirname, '../..')
const LEDGER = uuidOfBytes(new Uint8Array(16).fill(7))

const ENCODINGS: Readonly<Record<string, (text: string) => string>> = {
  plain: (text) => text,
  percent: encodeURIComponent,
  'percent, every character': (text) => Buffer.from(text).toString('hex').replaceAll(/../g, '%$&'),
  base64: (text) => Buffer.from(text).toString('base64'),
  base64url: (text) => Buffer.from(text).toString('base64url'),
  hex: (text) => Buffer.from(text).toString('hex').toUpperCase(),
  'base64 in lines, as of base64(1)': (text) => lines(Buffer.from(text).toString('base64'), '\n'),
  'base64 in lines, escaped': (text) => lines(Buffer.from(text).toString('base64'), '\\r\\n'),
  'base64 of UTF-16, as of PowerShell': (text) => Buffer.from(text, 'utf16le').toString('base64'),
}
const AROUND: Readonly<Record<string, (key: string) => string>> = {
  alone: (key) => key,
  'a header': (key) => `Authorization=Bearer ${key}`,
  'a URL': (key) => `https://user:${key}@host/path?x=1`,
  JSON: (key) => JSON.stringify({ a: [{ key }] }),
  'letters in front': (key) => `x/${key}`,
  'much in front': (key) => `${'a user of a long name, '.repeat(3)}${key}`,
}

function lines(text: string, end: string): string {
  return text.replaceAll(/.{76}/g, `$&${end}`)
}

test('drops every variable that contains a key, in any encoding and any surrounding text', () => {
  const known = 'a key of another form, 1234'
  for (const key of [makeApiKey(LEDGER), makeOperatorKey(), known])
    for (const [around, wrap] of Object.entries(AROUND))
      for (const [inner, encode] of Object.entries(ENCODINGS))
        for (const [outer, encodeAgain] of Object.entries(ENCODINGS)) {
          const value = wrap(encodeAgain(encode(wrap(key))))
          const { env, dropped } = childEnvironment({ X: value, PATH: '/bin' }, [known])
          assert.deepEqual([env, dropped], [{ PATH: '/bin' }, ['X']], `${around}, ${inner} in ${outer}`)
        }
})

test('passes other variables, and never variables named TALLYSTICK_…', () => {
  const others = {
    PATH: '/usr/local/bin:/usr/bin',
    OTEL_SERVICE_NAME: 'tly_files',
    EMPTY: '',
    LONG: 'ab/+'.repeat(10_000),
    WORDS: 'tly_ is what the keys of this server begin with, and the text goes on',
  }
  const own = { TALLYSTICK_URL: 'http://localhost', TALLYSTICK_API_KEY: 'x', tallystick_data: 'x' }
  assert.deepEqual(childEnvironment({ ...others, ...own }, ['']), { env: others, dropped: [] })
})

test('only two files of the command start child processes, and both set their environment', () => {
  const files = globSync('cli/**/*.ts', { cwd: ROOT })
  const starting = files.filter((file) => readFileSync(join(ROOT, file), 'utf8').includes('child_process'))
  assert.deepEqual(starting.sort(), ['cli/mcp-proxy/process-upstream.ts', 'cli/outbox/background.ts'])
  for (const file of starting) assert.match(readFileSync(join(ROOT, file), 'utf8'), /\benv\b/)
})
