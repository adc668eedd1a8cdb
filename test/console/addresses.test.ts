import assert from 'node:assert/strict'
import { test } from 'node:test'
import { linkOf } from '../../console/links.ts'
import { linkTo, parseRoute } from '../../console/router.ts'

test('an address round-trips its page, id and filters, whatever characters they contain', () => {
  const id = 'a/b?c#d&e=f%20<img>'
  const link = linkTo('search', id, { reference: id, type: 'order/1', state: '' })
  const { page, id: read, query } = parseRoute(link)
  assert.deepEqual(
    [page, read, [...query]],
    [
      'search',
      id,
      [
        ['reference', id],
        ['type', 'order/1'],
      ],
    ],
  )
  assert.deepEqual(parseRoute(''), { page: '', id: '', query: new URLSearchParams() })
  assert.equal(parseRoute('#/record/%E0%A4%A').id, '%E0%A4%A')
})

test('an id, position, trace or other pasted text links to the page that shows it', () => {
  const session = { names: new Map([['agt_01m8fy0xk3engre7zr2aeb9yez', 'buyer']]), ledger: { size: 42 } }
  const trace = '4bf92f3577b34da6a3ce929d0e0e4736'
  const expected: [text: string, link: string][] = [
    ['rec_01m8fy0xw2e4bs14bf86fsdeqb', '#/record/rec_01m8fy0xw2e4bs14bf86fsdeqb'],
    ['agt_01m8fy0xk3engre7zr2aeb9yez', '#/agents/agt_01m8fy0xk3engre7zr2aeb9yez'],
    ['key_01m8fy0xk3engre7zr2aeb9yez', '#/agents/key_01m8fy0xk3engre7zr2aeb9yez'],
    ['41', '#/entry/41'],
    [trace.toUpperCase(), `#/run?trace=${trace}`],
    [`00-${trace}-00f067aa0ba902b7-01`, `#/run?trace=${trace}`],
    ['buyer', '#/search?actor=agt_01m8fy0xk3engre7zr2aeb9yez'],
    ['order:77', '#/search?text=order%3A77'],
    ['rec_x', '#/search?text=rec_x'],
    // The ledger has no entry 4711, so the number is searched as text.
    ['4711', '#/search?text=4711'],
    ['"41"', '#/search?text=41'],
    ['“buyer”', '#/search?text=buyer'],
  ]
  for (const [text, link] of expected) assert.equal(linkOf(text, session), link)
  assert.equal(
    linkOf('jane', session, { type: 'order/1', text: 'before' }),
    '#/search?type=order%2F1&text=jane',
  )
})
