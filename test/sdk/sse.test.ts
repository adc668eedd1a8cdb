import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { type SseEvent, SseParser, SseTooLongError } from '../../sdk/http/sse.ts'
import { runs } from '../helpers/runs.ts'

const encode = (text: string) => new TextEncoder().encode(text)

function parse(pieces: readonly Uint8Array[], charsMax = 1_000): { events: SseEvent[]; parser: SseParser } {
  const parser = new SseParser(charsMax)
  return { events: pieces.flatMap((piece) => parser.push(piece)), parser }
}

const message = (data: string, lastEventId = '', type = 'message'): SseEvent => ({ type, data, lastEventId })

// Streams with the expected events: the examples of WHATWG HTML §9.2.6, and streams for each of its rules.
const STREAMS: [what: string, stream: string, events: SseEvent[]][] = [
  ['lines of data are joined', 'data: YHOO\ndata: +2\ndata: 10\n\n', [message('YHOO\n+2\n10')]],
  [
    'a comment says nothing, an id stays until another comes, and an empty one takes it back',
    ': test stream\n\ndata: first event\nid: 1\n\ndata:second event\nid\n\ndata:  third event\n\n',
    [message('first event', '1'), message('second event'), message(' third event')],
  ],
  ['an empty line of data is data', 'data\n\ndata\ndata\n\ndata:', [message(''), message('\n')]],
  ['one space after the colon goes', 'data:test\n\ndata: test\n\n', [message('test'), message('test')]],
  ['an event is named', 'event: add\ndata: 7\n\ndata: 8\n\n', [message('7', '', 'add'), message('8')]],
  ['a name alone is no event', 'event: add\n\ndata: 8\n\n', [message('8')]],
  [
    'CR, LF and CRLF end a line',
    'data: 1\r\rdata: 2\n\ndata: 3\r\n\r\n',
    [message('1'), message('2'), message('3')],
  ],
  ['a CRLF is one end', 'data: 1\r\ndata: 2\r\n\r\n', [message('1\n2')]],
  [
    'a byte order mark at the beginning goes, and no other',
    '\ufeffdata: 1\n\n\ufeffdata: 2\n\n',
    [message('1')],
  ],
  [
    'an id with NUL is ignored',
    'id: a\ndata: 1\n\nid: b\0\ndata: 2\n\n',
    [message('1', 'a'), message('2', 'a')],
  ],
  ['a colon in a value stays', 'data: {"a":1}\n\n', [message('{"a":1}')]],
  ['fields are case-sensitive, and unknown ones say nothing', 'Data: 1\nfoo: 2\ndata: 3\n\n', [message('3')]],
  ['what is cut off is no event', 'data: 1\n\ndata: 2\n', [message('1')]],
  ['U+2028 ends no line', 'data: a\u2028b\n\n', [message('a\u2028b')]],
]

for (const [what, stream, events] of STREAMS)
  test(`server-sent events, cut into any pieces: ${what}`, () => {
    const bytes = encode(stream)
    assert.deepEqual(parse([bytes]).events, events)
    assert.deepEqual(parse([...bytes].map((byte) => Uint8Array.of(byte))).events, events)
    for (let at = 0; at <= bytes.length; at++)
      assert.deepEqual(parse([bytes.subarray(0, at), bytes.subarray(at)]).events, events)
  })

test('any stream gives the same events, however it is cut into pieces', () => {
  const token = fc.constantFrom(
    'data',
    'id',
    'event',
    'retry',
    ':',
    ' ',
    '\r',
    '\n',
    '\r\n',
    '\n\n',
    'x',
    '7',
    'é€😀',
    '\0',
    '\ufeff',
  )
  fc.assert(
    fc.property(
      fc.array(token, { maxLength: 60 }),
      fc.array(fc.nat(200), { maxLength: 20 }),
      (tokens, cuts) => {
        const bytes = encode(tokens.join(''))
        const places = [0, ...cuts.filter((cut) => cut < bytes.length).sort((a, b) => a - b), bytes.length]
        const pieces = places.slice(1).map((end, i) => bytes.subarray(places[i], end))
        const [whole, inPieces] = [parse([bytes]), parse(pieces)]
        assert.deepEqual(inPieces.events, whole.events)
        assert.equal(inPieces.parser.lastEventId, whole.parser.lastEventId)
        assert.equal(inPieces.parser.retryMs, whole.parser.retryMs)
      },
    ),
    { numRuns: runs(2_000) },
  )
})

test('events that were written to a stream are parsed back unchanged', () => {
  const text = fc.string({ unit: 'grapheme' }).map((value) => value.replaceAll(/[\r\n\0]/g, '').trimStart())
  const event = fc.record({
    type: text.filter((type) => type !== ''),
    data: fc.array(text, { minLength: 1 }),
    lastEventId: text,
  })
  fc.assert(
    fc.property(fc.array(event), fc.constantFrom('\n', '\r', '\r\n'), (events, end) => {
      const lines = events.flatMap(({ type, data, lastEventId }) => [
        ...data.map((line) => `data: ${line}`),
        `id: ${lastEventId}`,
        ': said to nobody',
        `event: ${type}`,
        '',
      ])
      const written = events.map((each) => ({ ...each, data: each.data.join('\n') }))
      assert.deepEqual(parse([encode(lines.map((line) => line + end).join(''))]).events, written)
    }),
  )
})

test('an id is known at the end of its block, even without an event', () => {
  const parser = new SseParser(100)
  assert.deepEqual(parser.push(encode('retry: 250\nid: a')), [])
  assert.deepEqual([parser.retryMs, parser.lastEventId], [250, ''])
  assert.deepEqual(parser.push(encode('bc\n\n')), [])
  assert.equal(parser.lastEventId, 'abc')
  parser.push(encode('retry: soon\nretry: -1\nretry:\n\n'))
  assert.equal(parser.retryMs, 250)
})

test('a line or an event longer than the limit throws SseTooLongError', () => {
  assert.throws(() => parse([encode('x'.repeat(101))], 100), SseTooLongError)
  const parser = new SseParser(100)
  assert.throws(() => {
    for (let i = 0; i < 1_000; i++) parser.push(encode('x'))
  }, SseTooLongError)
  assert.throws(() => parse([encode('data:\n'.repeat(101))], 100), SseTooLongError)
  assert.equal(parse([encode('data: 1\n\n'.repeat(1_000))], 100).events.length, 1_000)
})
