import { credentialsFile, type FirstLedger } from './first-ledger.ts'

/** Returns the text that is printed once everything runs. The curl line of the text can be pasted unchanged. */
export function describeRunning(options: {
  url: string
  dataDir: string
  ownDatabase: boolean
  first: FirstLedger
  hasConsole: boolean
}): string {
  const { url, dataDir, first, hasConsole } = options
  const { ledger, key } = first.credentials
  const header = first.isNew ? `'Authorization: Bearer ${key}'` : `@${quote(first.headerFile)}`
  return `
Tallystick is running.

  URL      ${url} (in a browser: ${url}/docs)
  ledger   ${ledger}
${hasConsole ? consoleLine(url, first, credentialsFile(dataDir)) : ''}  key      ${first.isNew ? `${key} (kept in ${credentialsFile(dataDir)})` : `in ${credentialsFile(dataDir)}`}
  data     ${dataDir}${options.ownDatabase ? ', with a Postgres of its own' : '; records in DATABASE_URL'}

Notarize ${first.isNew ? 'a first' : 'a'} record:

  curl -sS ${url}/v1/records -H ${header} -H 'Content-Type: application/json' -d '{"type":"generic/1","payload":{"hello":"world"}}'

Ctrl-C stops it. The next start uses the same data.
`
}

/**
 * Returns the line with the link to the console. The key is in the URL's fragment, which browsers never send. Only the
 * first start shows the key. Later starts show a command that prints the link.
 */
function consoleLine(url: string, { credentials: { consoleKey }, isNew }: FirstLedger, file: string): string {
  const link = `${url}/console/#key=`
  if (isNew) return `  console  ${link}${consoleKey}\n`
  const script = quote(`${JSON.stringify(link)} + JSON.parse(fs.readFileSync(process.argv[1])).consoleKey`)
  return `  console  ${url}/console/ (a link with its key: node -p ${script} ${quote(file)})\n`
}

function quote(path: string): string {
  return /^[\w./-]+$/.test(path) ? path : `'${path.replaceAll("'", "'\\''")}'`
}
