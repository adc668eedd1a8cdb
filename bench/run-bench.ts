const closers: (() => Promise<void>)[] = []

/** Adds a function that is called when the benchmark ends, for any reason. The function added last runs first. */
export function onClose(close: () => Promise<void>): void {
  closers.push(close)
}

/** Runs a benchmark as a process. The exit code is 0 if `main` returns true, 2 for invalid arguments, otherwise 1. */
export async function runBench<Options>(
  parseOptions: (args: string[]) => Options,
  main: (options: Options) => Promise<boolean>,
): Promise<void> {
  for (const signal of ['SIGINT', 'SIGTERM'] as const)
    process.once(signal, () => void closeAll().finally(() => process.exit(130)))
  let options: Options
  try {
    options = parseOptions(process.argv.slice(2))
  } catch (error) {
    console.error(`${(error as Error).message}: see --help`)
    process.exit(2)
  }
  try {
    process.exitCode = (await main(options)) ? 0 : 1
  } catch (error) {
    console.error(error instanceof Error ? error.message : error)
    process.exitCode = 1
  } finally {
    await closeAll()
  }
}

async function closeAll(): Promise<void> {
  for (const close of closers.splice(0).reverse()) await close()
}
