import assert from 'node:assert/strict'
import { test } from 'node:test'
import { drawPlot, niceScale } from '../../../bench/k6/plots.ts'

const line = (name: string, ...points: [number, number][]) => ({ name, points })

/** Coordinates that each line is drawn at. */
function coordinatesOf(svg: string): number[][][] {
  return [...svg.matchAll(/points="([^"]*)"/g)].map(([, text]) =>
    text!.split(' ').map((pair) => pair.split(',').map(Number)),
  )
}

test('a step is 1, 2 or 5 times a power of ten, and reaches the largest value', () => {
  assert.deepEqual(niceScale(100, 5), { step: 20, max: 100 })
  assert.deepEqual(niceScale(101, 5), { step: 50, max: 150 })
  assert.deepEqual(niceScale(7, 5), { step: 2, max: 8 })
  assert.equal(niceScale(0.7, 5).step, 0.2)
  assert.ok(niceScale(0, 5).max > 0)
})

test('values lie where their axis says: 0 at the foot, the end of the scale at the top, the end of the time at the right', () => {
  const svg = drawPlot({ title: 'Rate', unit: '/s', lines: [line('rate', [0, 0], [5, 50], [10, 100])] })
  assert.deepEqual(coordinatesOf(svg), [
    [
      [62, 226],
      [336, 132],
      [610, 38],
    ],
  ])
})

test('on a log scale each decade is as high as any other', () => {
  const svg = drawPlot({
    title: 'Latency',
    unit: 'ms',
    scale: 'log',
    lines: [line('p50', [0, 1], [1, 10], [2, 100])],
  })
  const [heights] = coordinatesOf(svg).map((points) => points.map(([, y]) => y))
  assert.deepEqual(heights, [226, 132, 38])
})

test('each line has its name at its end, its last value, and no label lies over another', () => {
  const svg = drawPlot({
    title: 'CPU',
    unit: 'cores',
    lines: [line('API', [0, 1], [1, 1]), line('worker', [0, 1], [1, 1.001]), line('k6', [0, 1], [1, 0.999])],
  })
  const labels = [...svg.matchAll(/<text fill="#\w+" x="\d+" y="([\d.]+)">(\w+)/g)]
  assert.deepEqual(labels.map(([, , name]) => name).sort(), ['API', 'k6', 'worker'])
  const heights = labels.map(([, y]) => Number(y)).sort((a, b) => a - b)
  assert.ok(
    heights.every((y, i) => i === 0 || y - heights[i - 1]! >= 14),
    String(heights),
  )
})

test('labels of lines that lie at the foot stay within the plot, in the order of the lines', () => {
  const lines = [
    line('others', [0, 100], [1, 100]),
    ...['a', 'b', 'c', 'd', 'e'].map((name) => line(name, [1, 0])),
  ]
  const svg = drawPlot({ title: 'CPU', unit: 'cores', lines })
  const heights = [...svg.matchAll(/<text fill="#\w+" x="\d+" y="([\d.]+)">/g)].map(([, y]) => Number(y))
  assert.deepEqual(heights, [42, 174, 188, 202, 216, 230])
})

test('a plot says its title and its unit, marks runs, and escapes what a name holds', () => {
  const svg = drawPlot({
    title: 'A <b> & "c"',
    unit: 'MiB',
    lines: [line('x<y', [0, 1], [10, 2])],
    marks: [{ at: 5, name: 'twice & more' }],
  })
  assert.match(svg, />A &lt;b> &amp; &quot;c&quot;<tspan/)
  assert.match(svg, />, MiB<\/tspan><\/text>/)
  assert.match(svg, /x1="336".*twice &amp; more/)
  assert.match(svg, /x&lt;y/)
})

test('without any value there is still a plot', () => {
  assert.match(drawPlot({ title: 'Nothing', unit: '', lines: [line('none')] }), /<\/svg>$/)
})
