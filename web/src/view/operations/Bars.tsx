// Amounts as bars; each is a line that can be read, too.

export interface Bar {
  name: string;
  value: number;
  href?: string;
}

interface Props {
  title: string;
  bars: Bar[];
  told(value: number): string;
}

export function Bars({ title, bars, told }: Props) {
  if (bars.length === 0) return null;
  const most = Math.max(...bars.map((bar) => bar.value), Number.MIN_VALUE);
  return (
    <section>
      <h2>{title}</h2>
      <ul class="bars">
        {bars.map((bar) => (
          <li key={bar.href ?? bar.name}>
            <span class="bar-name">{bar.href ? <a href={bar.href}>{bar.name}</a> : bar.name}</span>
            <span class="bar-line" aria-hidden="true">
              <span style={{ width: `${(100 * bar.value) / most}%` }} />
            </span>
            <span class="bar-value">{told(bar.value)}</span>
          </li>
        ))}
      </ul>
    </section>
  );
}

const WIDTH = 720;
const HEIGHT = 140;

export function Days({ title, bars, told }: Props) {
  if (bars.length === 0) return null;
  const most = Math.max(...bars.map((bar) => bar.value), Number.MIN_VALUE);
  const step = WIDTH / bars.length;
  const total = bars.reduce((sum, bar) => sum + bar.value, 0);
  return (
    <section>
      <h2>{title}</h2>
      <svg class="days" viewBox={`0 0 ${WIDTH} ${HEIGHT}`} preserveAspectRatio="none" role="img" aria-label={`${title}: ${told(total)} in ${bars.length} days, at most ${told(most)} a day`}>
        {bars.map((bar, index) => {
          const height = bar.value > 0 ? Math.max(2, (HEIGHT * bar.value) / most) : 0;
          return (
            <rect key={bar.name} x={index * step + step * 0.15} y={HEIGHT - height} width={step * 0.7} height={height} rx={1.5}>
              <title>{`${bar.name}: ${told(bar.value)}`}</title>
            </rect>
          );
        })}
      </svg>
      <p class="row quiet days-ends">
        <span>{bars[0]?.name}</span>
        <span class="grow centre">at most {told(most)} a day</span>
        <span>{bars.at(-1)?.name}</span>
      </p>
    </section>
  );
}
