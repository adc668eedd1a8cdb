import { VerificationError } from '../../sdk/verify/errors.ts'
import { parseKid } from '../../src/verify/parse-kid.ts'
import { onlyArgument, parseChoice } from '../arguments.ts'
import { defineCommand } from '../command.ts'
import { EXIT } from '../exit-codes.ts'
import { openPieces } from '../open-pieces.ts'
import { refuseTerminal, withOutput } from '../output-file.ts'
import { type ControlMap, NO_MAP, readControlMap } from '../report/control-map.ts'
import { csvOf } from '../report/csv.ts'
import { Figures } from '../report/figures.ts'
import { htmlOf } from '../report/html.ts'
import { jsonOf } from '../report/json.ts'
import { type VerifiedRows, withVerifiedRows } from '../report/verified-rows.ts'
import { RefusedError } from '../run.ts'
import { formatReport } from './verify-bundle.ts'
import { parseNoteKey } from './verify-proof.ts'

const FORMATS = ['html', 'csv', 'json'] as const

const HELP = `tallystick report FILE [--format html|csv|json] [--controls MAP] [--note-key VKEY | --key KID] [-o FILE]

Verifies a bundle, offline, and writes a report of it: what happened, grouped by the controls of your own map
(docs/guides/search-and-reports.md), with charts of volume, outcomes and denials, and the verifier's last line as its
footer. A bundle that does not verify gets no report.

  --format html    one file to print, without scripts (default)
  --format csv     a row for each entry and record (RFC 4180), safe to open in a spreadsheet
  --format json    the same as one JSON object
  --controls MAP   YAML: which kinds, types and agents are evidence for which control; examples: examples/controls
  --note-key VKEY  the ledger's note verifier key, known from elsewhere. Without it or --key the bundle is trusted
  --key KID        the kid of the ledger's first envelope key, known from elsewhere. Repeatable
  -o, --out FILE   where to write. Default, and for -: standard output, unless that is a terminal
  -h, --help

Examples:
  tallystick report quarter.bundle --controls examples/controls/eu-ai-act.yaml --note-key "$NOTE_KEY" -o quarter.html
  tallystick report quarter.bundle --format csv -o quarter.csv
`

export const report = defineCommand({
  help: HELP,
  options: {
    format: { type: 'string' },
    controls: { type: 'string' },
    'note-key': { type: 'string' },
    key: { type: 'string', multiple: true },
    out: { type: 'string', short: 'o' },
  },
  async run(values, positionals, io) {
    const path = onlyArgument(positionals, 'report FILE')
    const format = parseChoice(values.format ?? 'html', FORMATS, '--format')
    return withOutput(values.out, { io, isPrivate: true }, async (output) => {
      refuseTerminal('a report', output)
      const map = values.controls === undefined ? NO_MAP : await readControlMap(values.controls)
      const noteKey = (await parseNoteKey(values['note-key'])) ?? undefined
      const given = { kids: (values.key ?? []).map(parseKid), noteKey }
      await withVerifiedRows(openPieces(path), given, (verified) =>
        output.save(formatRows(verified, map, format)),
      ).catch(refuse)
      return EXIT.ok
    })
  },
})

export async function* formatRows(
  { report, rows }: VerifiedRows,
  map: ControlMap,
  format: (typeof FORMATS)[number],
): AsyncGenerator<string, void, undefined> {
  const verdict = formatReport(report)
  const figures = new Figures()
  for await (const row of rows()) figures.add(row)
  yield* {
    html: () => htmlOf(rows, map, figures, verdict),
    csv: () => csvOf(rows(), map, verdict),
    json: () => jsonOf(rows(), map, figures, verdict),
  }[format]()
}

/** For a VerificationError, throws RefusedError with the verifier's last line. Throws any other error unchanged. */
function refuse(error: unknown): never {
  if (!(error instanceof VerificationError)) throw error
  throw new RefusedError(formatReport({ seq: error.seq, code: error.code, reason: error.detail }))
}
