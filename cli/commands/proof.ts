import { onlyArgument, parseCount } from '../arguments.ts'
import { defineCommand } from '../command.ts'
import { CONNECTION_HELP, CONNECTION_OPTIONS, connect } from '../connection.ts'
import { EXIT } from '../exit-codes.ts'
import { jsonLine } from '../output.ts'
import { UsageError } from '../run.ts'
import { writeWhole } from '../write-whole.ts'

const HELP = `tallystick proof RECORD [--seq SEQ] [--size N] [-o FILE]
tallystick proof SEQ [--size N] [-o FILE]

What proves an entry offline, to somebody who has nothing else: the first entry of a record, another one of it, or any by its place
in the chain. Waits about half a minute for a checkpoint that covers it. Always one line of JSON (docs/formats/proofs.md).

  --seq SEQ        another entry of the record than its first
  --size N         prove it in the checkpoint of this size, such as one that somebody kept; otherwise in the newest
  -o, --out FILE   where to write; by default, or with -, standard output
${CONNECTION_HELP}
  -h, --help

Examples:
  tallystick proof rec_01kd2m3n4p5q6r7s8t9v0w1x2y -o proof.json
  tallystick verify --proof proof.json
  tallystick proof 41 --size 1000 | jq .checkpoint
`

/** Doubling from 0.1 s to 5 s, that is about half a minute. */
const RETRIES_MAX = 10

export const proof = defineCommand({
  help: HELP,
  options: {
    seq: { type: 'string' },
    size: { type: 'string' },
    out: { type: 'string', short: 'o' },
    ...CONNECTION_OPTIONS,
  },
  async run(values, positionals, io) {
    const of = onlyArgument(positionals, 'proof RECORD, or SEQ')
    const isSeq = /^\d+$/.test(of)
    if (isSeq && values.seq !== undefined) throw new UsageError('--seq goes with a record')
    const size = parseCount(values.size, '--size')
    const seq = parseCount(isSeq ? of : values.seq, isSeq ? 'SEQ' : '--seq', { min: 0 })
    const client = await connect(values)
    const options = { retriesMax: RETRIES_MAX }
    const found = isSeq
      ? await client.entries.proof(seq!, { size }, options)
      : await client.records.proof(of, { seq, size }, options)
    if (values.out === undefined || values.out === '-') io.stdout.write(jsonLine(found, io.stdout))
    else await writeWhole(values.out, `${JSON.stringify(found)}\n`)
    return EXIT.ok
  },
})
