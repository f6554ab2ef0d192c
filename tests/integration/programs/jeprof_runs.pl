# jeprof_runs.pl - appended to a copy of jeprof: many reports, symbols once.
#
# jeprof.sh calls HwRuns where jeprof would print its one report.  It writes
# the names to $HW_SYMBOLS, and for each line of $HW_RUNS,
#     NAME PAIR FLAGS...
# what jeprof prints with those flags to $HW_OUT/NAME: of the profile (PAIR
# none), of it less the base, or (swap) of the base less it.
#
# Perl's hashes have another order in each run, and jeprof adds up in it: sums
# differ in their last bit, and which of equal edges stays is chance.  So that
# a report is the same each time, estimates are rounded to 1/1024, whose sums
# are exact, and (jeprof.sh) edges that weigh the same are sorted by name.
use POSIX ();

sub HwRuns {
  my ($symbols, $libs) = @_;
  foreach my $list (values(%{$symbols})) {
    for (my $i = 1; $i <= $#{$list}; $i += 3) {
      $list->[$i] =~ s/ \(discriminator \d+\)$//;
      # Newer addr2lines than jeprof knows.
      $list->[$i] =~ s/:\?$/:0/;
      $list->[$i] =~ s/^:0$/??:0/;
    }
  }
  open(my $out, ">", $ENV{HW_SYMBOLS}) || die;
  print $out join("\t", $_, @{$symbols->{$_}}), "\n"
    foreach sort keys(%{$symbols});
  close($out) || die;
  no warnings 'redefine';
  my $adjust = \&AdjustSamples;
  *AdjustSamples = sub {
    return map { POSIX::floor($_ * 1024 + 0.5) / 1024 } $adjust->(@_);
  };
  *ParseLibraries = sub { return $libs; };   # it is slow, and done already
  open(my $runs, "<", $ENV{HW_RUNS}) || die;
  my @runs = <$runs>;
  close($runs);
  foreach my $run (@runs) {
    my ($name, $pair, @flags) = split(' ', $run);
    my $child = fork();
    die unless defined($child);
    if ($child == 0) {
      HwRun("$ENV{HW_OUT}/$name", $pair, $symbols, $libs, @flags);
      POSIX::_exit(0);
    }
    waitpid($child, 0);
    die "jeprof failed: $run" if $?;
  }
  cleanup();
  exit(0);
}

sub HwRun {
  my ($path, $pair, $symbols, $libs, @flags) = @_;
  my ($now, $base) = ($main::pfile_args[0], $main::opt_base);
  ($now, $base) = ($base, $now) if $pair eq "swap";
  $main::opt_dot = 0;
  foreach my $flag (@flags) {
    $flag =~ m/^--(\w+)(?:=(.*))?$/ || die;
    $main::opt_functions = 0 if $flag =~ m/^--(lines|files|addresses)$/;
    no strict 'refs';
    ${"main::opt_$1"} = defined($2) ? $2 : 1;
  }
  open(STDOUT, ">", $path) || die;
  my $profile = ReadProfile($main::prog, $now)->{profile};
  $profile = SubtractProfile($profile,
                             ReadProfile($main::prog, $base)->{profile})
    if $pair ne "none";
  FilterAndPrint($profile, $symbols, $libs);
  close(STDOUT) || die;
}
1;
