import assert from 'node:assert/strict'
import { test } from 'node:test'
import { NOTE_BYTES_MAX, NOTE_SIGNATURES_MAX } from '../../../src/proof/limits.ts'
import { parseNote, signatureLine } from '../../../src/proof/tree/note.ts'
import { refuses } from '../refuses.ts'

const lineOf = (name: string, bytes: number) => signatureLine(name, new Uint8Array(4), new Uint8Array(bytes))

test('accepts a note with 16 signatures of 5 kB by names of 255 characters', () => {
  const lines = Array.from({ length: 16 }, (_, i) => lineOf(`${'x'.repeat(253)}${i + 10}`, 5_000))
  assert.equal(parseNote(`origin\n\n${lines.join('')}`).signatures.length, 16)
})

test('accepts a note of at most NOTE_BYTES_MAX bytes of UTF-8', () => {
  const end = `\n\n${lineOf('a', 64)}`
  for (const character of ['x', 'é', '漢', '🜁']) {
    const bytes = Buffer.byteLength(character)
    const room = NOTE_BYTES_MAX - Buffer.byteLength(end)
    const text = character.repeat(Math.floor(room / bytes)) + 'x'.repeat(room % bytes)
    assert.equal(Buffer.byteLength(text + end), NOTE_BYTES_MAX)
    assert.equal(parseNote(text + end).text, `${text}\n`)
    refuses('note_syntax', () => parseNote(`x${text}${end}`))
  }
})

test('accepts a line as long as the note allows, and at most NOTE_SIGNATURES_MAX lines', () => {
  const long = lineOf('a', Math.floor(((NOTE_BYTES_MAX - 32) / 4) * 3))
  assert.ok(parseNote(`x\n\n${long}`).signatures[0]!.signature.length > 98_000)
  const lines = (count: number) => `x\n\n${lineOf('a', 64).repeat(count)}`
  assert.equal(parseNote(lines(NOTE_SIGNATURES_MAX)).signatures.length, NOTE_SIGNATURES_MAX)
  refuses('note_syntax', () => parseNote(lines(NOTE_SIGNATURES_MAX + 1)))
})

test('accepts all characters except those that C2SP forbids', () => {
  for (const text of ['\u007f', '\u0080', '\u0085', '\u2028', '\ufeff', 'a b', '+', '— x'])
    assert.equal(parseNote(`${text}\n\n${lineOf('a', 1)}`).text, `${text}\n`)
  for (const text of ['\u0000', '\t', '\r', '\u001f', '\ud800'])
    refuses('note_syntax', () => parseNote(`${text}\n\n${lineOf('a', 1)}`))
})

test('a hostile note is parsed in linear time', () => {
  // With a backtracking regular expression or with `split`, parsing any of these shapes would take minutes instead of
  // milliseconds.
  const shapes = ['\n', '\n\n', '— ', '— a ', ' ', '=', 'A', '+', '\u00a0', '\n— a AAAAAAA=']
  for (const shape of shapes) {
    const body = shape.repeat(Math.floor(NOTE_BYTES_MAX / 2 / Buffer.byteLength(shape)))
    for (const note of [`x\n\n${body}\n`, `${body}\n\n${lineOf('a', 1)}`])
      try {
        parseNote(note)
      } catch {
        // Refusals are ignored, because only the time matters.
      }
  }
})
