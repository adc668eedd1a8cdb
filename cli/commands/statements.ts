import type { Tallystick } from '../../sdk/client.ts'
import type { Statement } from '../../sdk/generated/api.ts'
import type { RegistrationPolicy } from '../../sdk/resources/statements.ts'
import { ENVELOPE_BYTES_MAX } from '../../src/proof/limits.ts'
import { readBytes } from '../../src/verify/read-text.ts'
import { onlyArgument } from '../arguments.ts'
import { defineCommand, type ValuesOf } from '../command.ts'
import { CONNECTION_HELP, CONNECTION_OPTIONS, connect } from '../connection.ts'
import { UNTIL_COVERED } from '../entry-argument.ts'
import { EXIT, type ExitCode } from '../exit-codes.ts'
import type { Io } from '../io.ts'
import { readObject } from '../json-input.ts'
import { type Column, OUTPUT_HELP, OUTPUT_OPTIONS, printItem } from '../output.ts'
import { refuseTerminal, withOutput } from '../output-file.ts'
import { listItems, showItem } from '../resource.ts'

const REGISTER_HELP = `tallystick statements register FILE [-o FILE]

Registers a Signed Statement (RFC 9943): COSE_Sign1 as its issuer signed it, if the ledger's registration policy allows
it. Registering it again gives the first answer. Needs a key with the scope statements:write
(docs/formats/registered-statements.md).

  -o, --out FILE   write the Transparent Statement: the statement with its receipt; waits about half a minute for a
                   checkpoint, and needs the scope audit:read
${OUTPUT_HELP}
${CONNECTION_HELP}
  -h, --help

Examples:
  tallystick statements register sbom.cose
  tallystick statements register sbom.cose -o sbom.transparent.cose
`

const OPTIONS = { out: { type: 'string', short: 'o' }, ...CONNECTION_OPTIONS, ...OUTPUT_OPTIONS } as const

export const statementsRegister = defineCommand({
  help: REGISTER_HELP,
  options: OPTIONS,
  async run(values, positionals, io) {
    const path = onlyArgument(positionals, 'statements register FILE')
    const bytes = await readBytes(path, ENVELOPE_BYTES_MAX)
    return showAndSave(values, io, (client) => client.statements.register(bytes))
  },
})

const GET_HELP = `tallystick statements get STATEMENT [-o FILE]

Shows a registered statement. Needs a key with one of the scopes statements:write, audit:read, records:read.

  -o, --out FILE   write the Transparent Statement: the statement with its receipt; needs the scope audit:read
${OUTPUT_HELP}
${CONNECTION_HELP}
  -h, --help

Examples:
  tallystick statements get stm_01kd2m3n4p5q6r7s8t9v0w1x2y
  tallystick statements get stm_01kd2m3n4p5q6r7s8t9v0w1x2y -o sbom.transparent.cose
`

export const statementsGet = defineCommand({
  help: GET_HELP,
  options: OPTIONS,
  async run(values, positionals, io) {
    const id = onlyArgument(positionals, 'statements get STATEMENT')
    return showAndSave(values, io, (client) => client.statements.get(id))
  },
})

/**
 * Shows a statement. With `--out` it also writes the statement with its receipt. If `--out` is standard output, the
 * statement is not shown.
 */
async function showAndSave(
  values: ValuesOf<typeof OPTIONS>,
  io: Io,
  ask: (client: Tallystick) => Promise<Statement>,
): Promise<ExitCode> {
  const client = await connect(values)
  if (values.out === undefined) {
    printItem(await ask(client), values.json, io.stdout)
    return EXIT.ok
  }
  return withOutput(values.out, { io, isPrivate: false }, async (output) => {
    refuseTerminal('a Transparent Statement', output)
    const statement = await ask(client)
    if (output.stream === null) printItem(statement, values.json, io.stdout)
    await output.save([await client.statements.receipt(statement, UNTIL_COVERED)])
    return EXIT.ok
  })
}

export const statementsList = listItems({
  usage: 'statements list',
  flags: '[--issuer NAME] [--subject NAME] [--limit N]',
  about: `Lists registered statements, newest first. Needs a key with one of the scopes statements:write, audit:read,
records:read.`,
  options: { issuer: { type: 'string' }, subject: { type: 'string' } },
  optionsHelp: `  --issuer NAME    only of this issuer (claim 1)
  --subject NAME   only about this subject (claim 2)`,
  examples: ['statements list', "statements list --subject 'pkg:generic/copper@1' | jq -r .issuer"],
  columns: [
    ['ID', ({ id }) => id],
    ['SEQ', ({ seq }) => seq],
    ['ISSUER', ({ issuer }) => issuer],
    ['SUBJECT', ({ subject }) => subject],
    ['TYPE', ({ contentType }) => contentType],
    ['REGISTERED', ({ registeredAt }) => registeredAt],
  ] satisfies readonly Column<Statement>[],
  request: (client, _argument, { issuer, subject }) => client.statements.list({ issuer, subject }),
})

export const statementsPolicy = showItem({
  usage: 'statements policy',
  about: `Shows the ledger's registration policy: which issuers' statements it registers, and under which keys.`,
  examples: ['statements policy', 'statements policy | jq .issuers'],
  request: (client) => client.statements.policy(),
})

export const statementsSetPolicy = showItem({
  usage: 'statements set-policy FILE',
  about: `Replaces the ledger's registration policy, by an entry of the ledger, from the next statement on. FILE is JSON; - is
standard input. Needs a key with the scope policies:write.

  {"issuers":[{"issuer":"https://build.example","keys":[{"alg":"EdDSA","spki":"<DER SubjectPublicKeyInfo, base64>"}]}],
   "contentTypes":["application/spdx+json"]}

A key may have a "kid", as in the issuer's statements (hex). Default: the thumbprint of RFC 9679.`,
  examples: [
    'statements set-policy policy.json',
    `statements policy | jq '{issuers, contentTypes}' | tallystick statements set-policy -`,
  ],
  parse: async (_, path, io) =>
    // The server checks the policy, and its error says which part is wrong.
    (await readObject(path, io)) as unknown as RegistrationPolicy,
  request: (client, _, policy) => client.statements.setPolicy(policy),
})
