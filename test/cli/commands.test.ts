import assert from 'node:assert/strict'
import { test } from 'node:test'
import { COMMANDS } from '../../cli/commands.ts'
import { EXIT, HELP_EXIT_CODES } from '../../cli/exit-codes.ts'
import { printItem, printItems } from '../../cli/output.ts'
import { InputError, RefusedError, run, UsageError } from '../../cli/run.ts'
import { ConnectionError, errorOf, SecretLostError, TallystickError } from '../../sdk/errors.ts'
import type { Problem } from '../../sdk/generated/api.ts'
import { plain } from '../../sdk/plain.ts'
import { SourceError } from '../../src/verify/source.ts'
import { capture } from '../helpers/capture.ts'
import { runCommand } from '../helpers/run-command.ts'

const loaded = await Promise.all(
  Object.entries(COMMANDS).map(async ([name, { load }]) => ({ name, ...(await load()) })),
)

function optionsIn(text: string): string[] {
  return [...new Set(text.match(/(?<=^|[\s(`'=])--?[a-z][a-z-]*/gm))]
}

function optionsOf(options: (typeof loaded)[number]['options']): string[] {
  return Object.entries(options).flatMap(([name, { short }]) => [
    `--${name}`,
    ...(short === undefined ? [] : [`-${short}`]),
  ])
}

/** Options of other programs or commands that the help texts mention. */
const FOREIGN = /^-(c|r|n|e|o|d|y|rc)$/

for (const { name, help, options } of loaded) {
  test(`the help of ${name} explains each of its options and no other, and has examples of them`, () => {
    const [body, examples] = help.split('\nExamples:\n') as [string, string | undefined]
    assert.match(help, new RegExp(`^tallystick ${name}( |\n)`))
    assert.ok(examples, 'there are no examples')
    const own = optionsOf(options)
    assert.deepEqual(
      own.filter((option) => !optionsIn(body).includes(option)),
      [],
      'not explained',
    )
    const lines = body.split('\n').filter((line) => /^ +-/.test(line))
    const explained = lines.flatMap((line) => optionsIn(line.split(/ {2,}(?=[^-\s])/)[1] ?? ''))
    assert.deepEqual(
      explained.filter((option) => !own.includes(option)),
      [],
      'explained, but no option',
    )
    const used = examples
      .split('\n')
      .filter((line) => line.startsWith(`  tallystick ${name}`))
      .flatMap((line) => optionsIn(line.split(' | ')[0]!))
    assert.ok(examples.includes(`tallystick ${name}`))
    assert.deepEqual(
      used.filter((option) => !own.includes(option) && !FOREIGN.test(option)),
      [],
      'in an example, but no option',
    )
  })

  test(`${name} refuses unknown options, and prints its help without a server`, async () => {
    const refused = await runCommand([...name.split(' '), '--no-such-option'])
    assert.deepEqual([refused.code, refused.stdout], [EXIT.usage, ''])
    assert.match(refused.stderr, /^tallystick: Unknown option '--no-such-option'/)
    const shown = await runCommand([...name.split(' '), '--help'])
    assert.deepEqual(shown, { code: EXIT.ok, stdout: help, stderr: '' })
  })
}

test('--help lists all commands and exit codes; a mistyped command exits with 64 and that list', async () => {
  const { code, stdout } = await runCommand(['--help'])
  assert.equal(code, EXIT.ok)
  for (const name of Object.keys(COMMANDS)) assert.match(stdout, new RegExp(`^  ${name} +\\S`, 'm'))
  for (const number of Object.values(EXIT)) assert.match(HELP_EXIT_CODES, new RegExp(`^  ${number} `, 'm'))
  assert.ok(stdout.endsWith(HELP_EXIT_CODES))
  assert.deepEqual((await runCommand([])).code, EXIT.usage)
  assert.match((await runCommand(['--version'])).stdout, /^tallystick \d+\.\d+\.\d+\n$/)
  const mistyped: [string[], RegExp][] = [
    [['lst'], /there is no command `tallystick lst`. Commands: init, doctor/],
    [['keys', 'lst'], /keys needs one of: list, get, create/],
    [['constructor'], /there is no command `tallystick constructor`. Commands: init, doctor/],
    [['\x1b]0;x\x07'], /there is no command `tallystick ⟨U\+001B⟩\]0;x⟨U\+0007⟩`/],
  ]
  for (const [args, pattern] of mistyped) {
    const refused = await runCommand(args)
    assert.deepEqual([refused.code, refused.stdout], [EXIT.usage, ''])
    assert.match(refused.stderr, pattern)
  }
})

test('every error has its exit code, and its message has no control characters', async () => {
  const problem = (status: number, code: string) =>
    errorOf(
      {
        type: 'about:blank',
        title: 't',
        status,
        detail: '\x1b[2J',
        code,
        requestId: 'r',
        retryable: false,
      } as Problem,
      { retryAfterMs: null, idempotencyKey: null, repeatable: false },
    )
  const errors: [Error, number][] = [
    [new UsageError('x'), EXIT.usage],
    [new InputError('x'), EXIT.badInput],
    [new RefusedError('x'), EXIT.refused],
    [new SourceError('io', 'x'), EXIT.io],
    [new SourceError('denied', 'x'), EXIT.denied],
    [problem(401, 'unauthenticated'), EXIT.denied],
    [problem(403, 'forbidden'), EXIT.denied],
    [problem(404, 'not_found'), EXIT.refused],
    [problem(409, 'state_conflict'), EXIT.refused],
    [problem(422, 'payload_invalid'), EXIT.refused],
    [problem(429, 'rate_limited'), EXIT.unavailable],
    [problem(500, 'internal_error'), EXIT.unavailable],
    [problem(503, 'overloaded'), EXIT.unavailable],
    [problem(503, 'outcome_unknown'), EXIT.unavailable],
    [new ConnectionError('x', { retryable: true, idempotencyKey: null }), EXIT.unavailable],
    [new SecretLostError('key_x'), EXIT.unavailable],
    [new TallystickError('it takes too long', { retryable: true }), EXIT.unavailable],
    [new TallystickError('it never will'), EXIT.refused],
    [new TypeError('x is not a function'), EXIT.software],
  ]
  for (const [error, code] of errors) {
    const stderr = capture()
    const found = await run(() => Promise.reject(error), stderr)
    assert.equal(found, code, error.message)
    assert.match(stderr.text(), /^tallystick: /)
    assert.ok(!stderr.text().includes('\x1b'))
  }
})

test('a pipe gets a line of JSON per item; a terminal gets a table with escaped text', async () => {
  const hostile = { id: 'a\x1b[31m', text: 'one\ntwo \u202eevil\u202c', n: 7, none: null }
  async function* items() {
    yield hostile
  }
  const columns = [
    ['ID', ({ id }: typeof hostile) => id],
    ['TEXT', ({ text }: typeof hostile) => text],
    ['N', ({ n }: typeof hostile) => n],
    ['NONE', ({ none }: typeof hostile) => none],
  ] as const
  for (const [json, isTTY] of [
    [undefined, false],
    [true, true],
  ] as const) {
    const [many, one] = [capture(isTTY), capture(isTTY)]
    await printItems(items(), columns, json, many)
    printItem(hostile, json, one)
    for (const text of [many.text(), one.text()]) {
      assert.deepEqual(JSON.parse(text), hostile)
      assert.equal(text.split('\n').length, 2)
      if (isTTY) assert.equal(plain(text.trimEnd()), text.trimEnd())
      else assert.equal(text, `${JSON.stringify(hostile)}\n`)
    }
  }
  const [many, one] = [capture(true), capture(true)]
  await printItems(items(), columns, undefined, many)
  assert.equal(
    many.text(),
    'ID             TEXT                                 N  NONE\na⟨U+001B⟩[31m  one⟨U+000A⟩two ⟨U+202E⟩evil⟨U+202C⟩  7\n',
  )
  printItem(hostile, undefined, one)
  assert.equal(one.text(), 'id    a⟨U+001B⟩[31m\ntext  one⟨U+000A⟩two ⟨U+202E⟩evil⟨U+202C⟩\nn     7\n')
  assert.equal(plain('\x9b31m\x7f\u2066'), '⟨U+009B⟩31m⟨U+007F U+2066⟩')
})

test('on a terminal empty fields have no row, and a long member has a row for each of its members', () => {
  const item = {
    id: 'rec_1',
    parent: null,
    references: [],
    metadata: {},
    payload: { tool: 'search' },
    entry: { seq: 4, digest: 'd'.repeat(100), receives: null },
  }
  const shown = capture(true)
  printItem(item, undefined, shown)
  assert.equal(
    shown.text(),
    `id            rec_1\npayload       {"tool":"search"}\nentry.seq     4\nentry.digest  ${'d'.repeat(100)}\n`,
  )
})
