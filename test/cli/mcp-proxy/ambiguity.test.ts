import assert from 'node:assert/strict'
import { test } from 'node:test'
import { ambiguityOf, skeletonOf } from '../../../cli/mcp-proxy/ambiguity.ts'

const LETTERS = 'abcdefghijklmnopqrstuvwxyz'

test('a character that Unicode folds to a letter counts as that letter in a name', () => {
  const missed: string[] = []
  // No character above this range becomes a Latin letter when its case is changed.
  for (let code = 0x80; code < 0x20000; code++) {
    const char = String.fromCodePoint(code)
    if (/\p{Cs}/u.test(char)) continue
    const forms = new Set([
      char.toLowerCase(),
      char.toUpperCase().toLowerCase(),
      char.toLocaleLowerCase('tr'),
      char.toLocaleUpperCase('tr').toLowerCase(),
      char.normalize('NFKC').toLowerCase(),
      char.normalize('NFKD').toLowerCase().replaceAll(/\p{M}/gu, ''),
    ])
    for (const form of forms)
      if (/^[a-z]+$/.test(form) && skeletonOf(char) !== form) missed.push(`U+${code.toString(16)} ${form}`)
  }
  for (const letter of LETTERS) {
    const simple = new RegExp(`^${letter}$`, 'iu')
    for (let code = 0; code < 0x20000; code++)
      if (simple.test(String.fromCodePoint(code)) && skeletonOf(String.fromCodePoint(code)) !== letter)
        missed.push(`U+${code.toString(16)} ${letter}`)
  }
  assert.deepEqual(missed, [])
})

test('a method with characters outside MCP’s names is ambiguous, because a server may decode it', () => {
  const methods = [
    '%74ools/call',
    't%6Fols/call',
    '&#116;ools/call',
    '\\u0074ools/call',
    'tооls/call',
    'ᴛᴏᴏʟs/call',
    '\u202ellac/sloot',
    [...'tools/call'].map((char) => String.fromCodePoint(0xe0000 + char.charCodeAt(0))).join(''),
    '',
  ]
  const why = (method: string) => ambiguityOf({ jsonrpc: '2.0', id: 1, method })
  assert.deepEqual(
    methods.filter((method) => why(method) === null),
    [],
  )
  for (const method of ['ping', 'notifications/initialized', 'x-vendor.2/do_it', '$/cancelRequest', 'a:b'])
    assert.equal(why(method), null)
})
