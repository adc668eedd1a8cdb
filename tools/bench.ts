/* npm run bench -- NAME [ARGUMENTS…]: benchmarks of speed and cost. Without a name it lists them. */
import { type NamedScript, type NamedScripts, runNamed } from './named-scripts.ts'

const EMBEDDED = ['--embedded', 'use the embedded Postgres even if the system has one'] as const
const DATABASE_URL = [
  'DATABASE_URL',
  "an owner's URL: use this Postgres, with databases that are made for the run and dropped after it",
] as const

/** A scenario of bench/bench.ts. All scenarios have the same options. */
const scenario = (name: string, summary: string): NamedScript => ({
  summary,
  scripts: [['bench/bench.ts', name]],
  words: [
    ['--duration 10', 'measured seconds of each phase'],
    ['--warm-up 2', 'seconds before them, not measured'],
    ['--servers 1', 'API processes; for several rounds: --servers 1,2'],
    [
      '--connections 128,256',
      'for single: connections of the closed-loop phases (256 also for the arrival rate)',
    ],
    [
      '--shares 0.1,0.5,0.95',
      'for latency: shares of the ceiling; for overload: multiples of it, --shares 1.5,2,4,10',
    ],
    [
      '--producers 2',
      'for batch and the bare load of notarizer: connections; for several phases: --producers 1,2,64',
    ],
    ['--clients 64,128', 'for lifecycle: clients, each with its own connection; one phase for each number'],
    ['--gate principal', 'who judges: principal, or auto (only the rules)'],
    ['--batch-size 1000', 'records in a batch'],
    [
      '--rate N',
      'requests/s of the arrival-rate phase; for latency and overload, the ceiling to which shares refer',
    ],
    ['--no-arrival', 'without the arrival-rate phase'],
    ['--payload-bytes 400', 'JSON bytes of a payload'],
    ['--idempotency-keys', 'an Idempotency-Key on every request'],
    ['--seed 1', 'the same seed sends the same payloads'],
    ['--no-worker', 'without the worker process'],
    ['--watched', 'run a witness that cosigns each checkpoint, and a monitor that reads each new tile'],
    ['--no-reference', 'without the plain one-row inserts with which results are compared'],
    EMBEDDED,
    ['--profile', 'write CPU profiles of the API processes, and print where their time went'],
    ['--fsync-gate-ms 5', 'refuse to run on a slower disk'],
    ['--force', 'run all the same'],
    ['--out bench/results', 'where the JSON goes'],
    DATABASE_URL,
  ],
})

export const BENCHMARKS: NamedScripts = {
  single: scenario(
    'single',
    'one record a request: closed loops, then a constant arrival rate of 80 % of their result',
  ),
  batch: scenario('batch', 'many records a request: closed loop'),
  latency: scenario(
    'latency',
    'one record a request: the ceiling, then shares of it, with the time of each step of a request',
  ),
  overload: scenario(
    'overload',
    'one record a request: the ceiling, multiples of it, and half of it right after each',
  ),
  lifecycle: scenario(
    'lifecycle',
    'gated records from creation to verdict: closed loop, each client does one record at a time',
  ),
  notarizer: scenario(
    'notarizer',
    "the SDK's notarizer, with and without a spool, compared with the load of batch in the same session",
  ),
  calibrate: scenario('calibrate', 'the load generator against a server that does nothing: its own cost'),
  preflight: scenario('preflight', 'the machine, its fsync and commit latency; no load'),
  archive: {
    summary:
      'an archive from the first record to its restore: archiving under load, release of content from Postgres, reads, verification',
    scripts: [['bench/archive.ts']],
    words: [
      ['--records 100000', 'records of the ledger'],
      ['--batch 1000', 'records in a batch; 1: no batches'],
      ['--rate R', 'records a second. Default: as fast as eight clients can write'],
      ['--no-restore', 'without the restore into another database'],
      EMBEDDED,
    ],
  },
  cells: {
    summary:
      'one deployment and three behind HAProxy (docs/operate/capacity.md#several-deployments-behind-one-address)',
    scripts: [['bench/micro/cells.ts']],
    needs: "HAProxy, and better the system's Postgres",
    words: [
      ['--seconds 6', 'of each phase'],
      ['--rounds 2', 'the phases in turn'],
    ],
  },
  compare: {
    summary: 'this tree and another revision in turns, each kind of work: ratios, and what became worse',
    scripts: [['bench/compare/compare.ts']],
    needs: 'git; for cells HAProxy; for webhooks and federation Go, to build k6 once',
    words: [
      ['--with REV', 'the other revision: a commit since cc8bfec8'],
      [
        '--only NAMES',
        'only some of: single, batch, batch-100, latency, overload, lifecycle, notarizer, otlp, lists,',
      ],
      ['', 'search, evidence, proofs, retention, cells, webhooks, federation'],
      ['--rounds 3', 'runs of each kind by each revision'],
      ['--duration 6', 'measured seconds of each phase'],
      ['--force', 'run on a busy machine all the same'],
    ],
  },
  evidence: {
    summary: 'records that agents sign; tiles, entry bundles, receipts',
    scripts: [['bench/micro/evidence.ts']],
    words: [['--rounds 3', 'of the records'], ['--requests 3000', 'of each kind'], EMBEDDED],
  },
  federation: {
    summary: 'two deployments that share records: the drain of a backlog, and offers of the guest',
    scripts: [['bench/micro/federation.ts']],
    words: [
      ['--backlog 3000', 'shared records of each round'],
      ['--offers 1500', 'of them, how many the guest activates'],
      ['--rounds 3', 'the first round is slower, because the processes are new'],
      ['--no-reference', 'without the plain one-row inserts'],
      ['--profile', 'write CPU profiles of both servers and workers'],
      EMBEDDED,
    ],
  },
  floods: {
    summary: 'floods of requests without a key, while ledgers write: how many of their requests are refused',
    scripts: [['bench/micro/floods.ts']],
    words: [
      ['--connections 800', 'of the flood'],
      ['--seconds 8', 'of each flood'],
      ['--rounds 1', 'the floods in turn'],
      EMBEDDED,
    ],
  },
  k6: {
    summary: 'eleven workloads in k6 (docs/BENCHMARKS.md)',
    scripts: [['bench/k6/run.ts']],
    needs: 'Go, to build k6 once',
    words: [
      [
        'NAME…|all',
        'one or more of notarize-ramp, lifecycle-soak, batch-sustained, dense-producers, pipelined-messages,',
      ],
      ['', 'mixed-users, zipfian, overload, replicas, webhooks-drain, federation-drain'],

      ['--profile short', 'short: seconds, on any machine; full: as the figures are measured'],
      [
        '--peak N',
        'for notarize-ramp: up to N requests/s; max: find the ceiling, and go to twice the ceiling',
      ],
      ['--servers N', 'API processes, instead of the number of the script'],
      ['--seconds N', "seconds of load, if the script's own time is too long for this disk"],
      ['--seed 1', 'the same seed sends the same payloads'],
      ['--out bench/results', 'where the reports go'],
      EMBEDDED,
      ['--fsync-gate-ms 5', 'for full: refuse to run on a slower disk'],
      ['--force', 'run all the same'],
      ['--keep', 'store the output of k6 beside the report'],
      DATABASE_URL,
      ['K6', 'path of a k6, instead of the one that is built and cached'],
    ],
  },
  otlp: {
    summary:
      'spans by OTLP compared with the same records in batches; what a flood of spans costs other ledgers',
    scripts: [['bench/micro/otlp.ts']],
    words: [
      ['--windows 4', 'measured, in turns'],
      ['--seconds 5', 'of each window'],
      [
        '--floods',
        'instead: the cost of many traces, or of a large resource, of one ledger for other ledgers',
      ],
      ['--only NAMES', 'for --floods: only these'],
      EMBEDDED,
    ],
  },
  proofs: {
    summary: 'the cost of an inclusion path and a consistency proof, by size of the ledger',
    scripts: [['bench/micro/proofs.ts']],
    words: [['SIZE…', 'entries of the ledgers, each at least 1000; by default 100000 10000000']],
  },
  replica: {
    summary: 'how many more reads a replica allows, and whether readers always see their own writes',
    scripts: [['bench/micro/replica.ts']],
    words: [
      ['--checked N', 'reads that are compared with the preceding write'],
      ['--seconds 10', 'of each phase'],
    ],
  },
  retention: {
    summary: 'erasure of documents by rules, from the rule to the last document',
    scripts: [['bench/micro/retention.ts']],
    words: [
      ['--records 20000', 'in batches of 1,000'],
      ['--rows 1000', 'records of one request each'],
      ['--share 1', 'share of the time for sweeps. Default: that of the worker'],
      EMBEDDED,
    ],
  },
  search: {
    summary: 'does a ledger of many records answer as fast as a small one?',
    scripts: [['bench/micro/search.ts']],
    words: [
      ['--records 10000000', 'of the large ledger'],
      ['--small 100000', 'of the small one'],
      ['--repeats 200', 'of each query'],
      ['--lists', 'instead: the cost of a page of ten, and pages a second'],
      ['--connections 16', 'of --lists'],
      ['--seconds 2', 'for --lists: each list'],
      ['--only WORD', 'for --lists: only these'],
      ['--profile', 'for --lists: CPU profile of the server'],
      EMBEDDED,
    ],
  },
  table: {
    summary: 'the first table of docs/BENCHMARKS.md, from one run of each kind; about 15 minutes',
    scripts: [['bench/compare/first-table.ts']],
    words: [
      ['--only NAMES', 'only some kinds, such as single,batch'],
      ['--duration 10', 'measured seconds of each phase'],
      ['--force', 'run on a busy machine all the same'],
    ],
  },
  volume: {
    summary:
      'bytes of a record in tables, indexes, log and on the network, by kind (docs/operate/capacity.md)',
    scripts: [['bench/micro/volume.ts']],
    words: [['--records 10000', 'notarized'], ['--gated 1000', 'gated records'], EMBEDDED],
  },
}

if (import.meta.main) await runNamed(BENCHMARKS, 'npm run bench', process.argv.slice(2))
